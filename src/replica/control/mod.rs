//! What operators order of a running replica: reload, drain, runs by hand.

mod drain;
pub(super) mod drain_deadline;
pub(super) mod manual;
pub(super) mod notices;
mod reload;
