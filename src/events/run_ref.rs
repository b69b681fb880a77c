//! A run by name.

use crate::job::{Cause, Fence, JobName, RunId, Tick};
use crate::lease::Lease;

/// A run, as every line about it names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The job.
    pub job: JobName,
    /// Its tick.
    pub tick: Tick,
    /// The run.
    pub run: RunId,
    /// Its fencing token.
    pub fence: Fence,
    /// Why it was started.
    pub cause: Cause,
}

impl Run {
    /// The run that holds this lock.
    pub(crate) fn of(job: &JobName, lease: &Lease) -> Self {
        Self { job: job.clone(), tick: lease.tick, run: lease.run, fence: lease.fence, cause: lease.cause }
    }
}
