//! The Redis store: the lease protocol as Lua scripts, over a connector whose every call is bounded.

mod args;
mod batch;
mod beats;
mod connect;
#[cfg(test)]
mod connect_tests;
mod foreign;
#[cfg(feature = "test-switches")]
pub mod fuzz;
mod gather;
mod hints;
mod inspect;
mod judge;
mod keys;
mod records;
mod reply;
mod rights;
mod scripts;
mod server;
mod settings;
mod stream;
mod wording;

pub use keys::RedisKeys;
pub use records::RedisStore;
