//! The acts, one per file. Those whose effect takes a while are [`ClusterWait`](super::wait::ClusterWait)s.

pub(crate) mod kill;
pub(crate) mod mark;
pub(crate) mod pause;
pub(crate) mod trigger;
pub(crate) mod unlock;
