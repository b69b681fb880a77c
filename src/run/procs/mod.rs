//! Processes of a run, whatever they became: found by tree, control group and environment, and killed.

pub(super) mod ancestry;
pub(super) mod cgroup;
pub(super) mod kill_rounds;
pub(super) mod limits;
pub(super) mod privilege;
pub(crate) mod sweep;
pub(super) mod syscalls;
pub(super) mod tree;
