//! The Redis store: the lease protocol as Lua scripts, over a connector whose every call is bounded.

mod args;
mod connection;
#[cfg(feature = "test-switches")]
pub mod fuzz;
mod keys;
mod messages;
mod overview;
mod records;
mod reply;
mod scripts;
mod setup;

pub use keys::RedisKeys;
pub use records::RedisStore;
