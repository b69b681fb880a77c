//! The command line: flags, names, usage, man page and completions.

pub(super) mod completions;
pub(super) mod exec;
pub(super) mod global;
pub(super) mod man;
pub(super) mod operate;
pub(super) mod run_prefix;
mod usage;
