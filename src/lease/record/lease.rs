//! A granted lock, as its holder knows it.

use std::time::Duration;

use crate::job::{Cause, Fence, NodeName, RunId, Tick};
use crate::lease::ScheduleHash;
use crate::time::UtcMillis;

/// A lock that was granted: everything a store that forgot needs to have put back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The run it was granted to.
    pub run: RunId,
    /// The fencing token it was granted with.
    pub fence: Fence,
    /// The tick of the run.
    pub tick: Tick,
    /// The lease it was granted for.
    pub length: Duration,
    /// The replica it was granted to.
    pub node: NodeName,
    /// Why the run was started.
    pub cause: Cause,
    /// Which grant of the tick it is, from 1.
    pub tries: u32,
    /// When it began, by the store's clock: when it was granted, or at the tick's instant if that was still to come.
    pub started: UtcMillis,
    /// Schedule and zone of the job.
    pub sched: ScheduleHash,
    /// The job's mark as the grant left it.
    pub mark: UtcMillis,
    /// The tick right before, by that schedule, if there is one.
    pub prev: Option<Tick>,
}
