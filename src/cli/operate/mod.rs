//! Commands that change something: `trigger`, `kill`, `pause`, `resume` and `unlock`. They ask, print and
//! choose exit codes; what they do is in [`operate`](crate::operate).

mod audit;
mod connect;
mod follow;
pub(super) mod kill;
pub(super) mod pause;
mod show_wait;
pub(crate) mod store_init;
pub(super) mod trigger;
pub(super) mod unlock;
mod unlock_mark;
