//! Commands that change something: `trigger`, `kill`, `pause`, `resume` and `unlock`.

mod client;
mod follow;
pub(super) mod kill;
pub(super) mod pause;
pub(super) mod trigger;
pub(super) mod unlock;
mod unlock_mark;
mod wait_out_outage;
