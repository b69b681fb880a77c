//! Reads the tables of jobs.toml: `[cluster]`, `[replica]`, `[http]`, `[logs]`, `[defaults]` and `[jobs.NAME]`.

pub(super) mod cluster;
pub(super) mod http;
pub(super) mod job;
pub(super) mod keys;
pub(super) mod logs;
pub(super) mod replica;
pub(super) mod section;
pub(super) mod shared;
