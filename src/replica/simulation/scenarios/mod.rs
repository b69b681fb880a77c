//! Scripted situations, each with what it once broke or must not break.

mod once_broken;
mod situations;
#[cfg(feature = "test-switches")]
mod switched_off;
pub(super) mod unkillable;
pub(super) mod week;
mod wrong_clocks;
