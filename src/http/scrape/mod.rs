//! `/metrics`: what programs that watch a cluster read. A scrape reads memory only, never the store.

mod figures;
mod handler;

pub(super) use handler::metrics;
