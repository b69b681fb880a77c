//! What is stored of runs on disk: their logs, `runs.jsonl`, and the sign of each running run.

pub(super) mod archive;
pub(super) mod disk;
mod journal;
pub(super) mod paths;
pub(super) mod retention;
pub(super) mod run_entry;
pub(super) mod run_log;
pub(super) mod running_sign;
pub(super) mod site;
mod warnings;
