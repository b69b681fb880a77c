//! What must hold of every simulated cluster: no tick runs twice, none is lost, and every job runs.

pub(super) mod counters;
mod liveness;
mod processes;
pub(super) mod records;
pub(super) mod safety;
