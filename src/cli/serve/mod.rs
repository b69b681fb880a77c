//! `run`: a replica as a process, with its signals, its logs, and the reload of its jobs.toml.

pub(super) mod control;
mod file_watch;
mod http;
mod load_report;
mod multi;
mod multi_output;
pub(super) mod pid1;
mod reloader;
pub(super) mod resolve;
pub(super) mod run;
pub(super) mod signals;
