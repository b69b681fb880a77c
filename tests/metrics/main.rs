//! What programs that watch a cluster are given, as their own tools see it: the rules, their tests, and the
//! text of a scrape.

#[path = "../support/http_client.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod http_client;
mod monotone;
mod names;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
mod prometheus;
mod promtool;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod scrape;
mod stage;
