//! What operators see of a cluster, as values: a snapshot of the store, what is wrong, why a tick ran or did
//! not, the timeline. Commands print it.

pub(crate) mod expected;
pub(crate) mod explanation;
pub mod history;
pub(crate) mod job;
pub(crate) mod problems;
pub(crate) mod snapshot;
pub(crate) mod status;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod timeline;
