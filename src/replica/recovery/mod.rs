//! What a replica does after a loss: its own restart, another replica's death, a store that forgot.

mod lock_check;
pub(super) mod long_lease;
pub(super) mod lost_runs;
pub(super) mod not_rerun;
pub(super) mod orphans;
#[cfg(test)]
mod orphans_tests;
pub(super) mod registration;
pub(super) mod resync;
pub(super) mod settle_lost_runs;
mod sweep_orphans;
