//! What programs that watch a cluster read: `/metrics`, and whether a replica is healthy and ready. It is answered from memory,
//! never from the store.

mod figures;
mod handler;
pub(super) mod health;

pub(super) use handler::metrics;
