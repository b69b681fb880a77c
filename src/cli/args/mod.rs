//! The command line: flags, names, moments, usage, man page and completions.

pub(super) mod completions;
pub(super) mod exec;
pub(super) mod global;
pub(super) mod man;
pub(super) mod moment;
pub(super) mod operate;
pub(super) mod run_prefix;
mod usage;
