//! The page in a real browser: what people see of a cluster, and what a browser makes of the page's script, its style and
//! its policy.

mod accessible;
mod acts;
#[path = "../support/http_client.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod http_client;
mod keys;
mod live;
mod login;
#[path = "../support/machine.rs"]
mod machine;
mod no_script;
mod output;
mod phone;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod screens;
mod stage;
#[path = "../support/webdriver.rs"]
mod webdriver;
