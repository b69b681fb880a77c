//! The Redis store: the lease protocol as Lua scripts, over a connector whose every call is bounded.

mod connect;
mod keys;
mod records;
mod reply;
mod scripts;
mod url;

pub use keys::RedisKeys;
pub use records::RedisStore;
pub use url::RedisUrl;
