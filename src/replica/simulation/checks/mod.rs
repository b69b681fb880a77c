//! What must hold of every simulated cluster: nothing runs twice, nothing is lost, everything has its turn.

pub(super) mod counters;
mod liveness;
pub(super) mod safety;
