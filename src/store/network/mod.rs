//! What connections to servers of every kind have in common.

pub(super) mod batcher;
pub(super) mod kept;
pub(super) mod tls;
