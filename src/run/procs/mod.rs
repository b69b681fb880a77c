//! Finds the processes of a run, whatever they became, by tree, control group and environment, and kills them.

pub(super) mod ancestry;
pub(super) mod cgroup;
pub(super) mod kill_rounds;
pub(super) mod limits;
pub(super) mod privilege;
pub(crate) mod sweep;
pub(super) mod syscalls;
pub(super) mod tree;
