//! The fields that identify a run.

use crate::job::{Cause, Fence, JobName, RunId, Tick};
use crate::lease::Holding;

/// A run, with the fields that every line about it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRef {
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

impl RunRef {
    /// Returns the run that holds this lock.
    pub(crate) fn of(job: &JobName, holding: &Holding) -> Self {
        Self {
            job: job.clone(),
            tick: holding.tick,
            run: holding.run,
            fence: holding.fence,
            cause: holding.cause,
        }
    }
}
