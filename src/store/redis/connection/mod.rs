//! Connections to a Redis server: opened, kept up, opened again, and shared by requests that are sent together.

pub(super) mod batch;
pub(super) mod connect;
#[cfg(test)]
mod connect_tests;
pub(super) mod server;
pub(super) mod stream;
mod wording;
