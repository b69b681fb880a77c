//! What several test crates share: samples of requests, and servers of their own.

pub(crate) mod redis_server;
pub(crate) mod sample;
