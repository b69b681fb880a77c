//! Stand-ins for what waits and performs: the runtimes of a replica, of a holder and of an `exec`, and the operator.

pub(super) mod errand;
pub(super) mod exchanges;
mod guest;
pub(super) mod hints;
pub(super) mod lock;
pub(super) mod node;
mod operator;
mod orphan;
mod replica;
mod scaled_time;
