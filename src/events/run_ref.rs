//! The fields that identify a run.

use crate::job::{Cause, Fence, JobName, RunId, Tick};
use crate::lease::Lease;

/// A run, with the fields that every line about it names.
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
    /// Returns the run that holds this lock.
    pub(crate) fn of(job: &JobName, lease: &Lease) -> Self {
        Self { job: job.clone(), tick: lease.tick, run: lease.run, fence: lease.fence, cause: lease.cause }
    }
}
