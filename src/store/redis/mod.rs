//! The Redis store: the lease protocol as Lua scripts, over a connector whose every call is bounded.

mod connect;
mod keys;
mod records;
mod reply;
mod scripts;

pub use keys::RedisKeys;
pub use records::RedisStore;
