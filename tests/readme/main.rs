//! What README and the pages of docs show is true: files load, commands exist, links lead somewhere, the Redis user may do
//! what is needed, and what is shown of a terminal is what is printed.

mod image;
mod markdown;
mod masking;
mod pages;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod redis_user;
mod reference;
mod terminal;
