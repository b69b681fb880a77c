//! A job that waits for a longer lease than its file's, which nobody is known to hold.

use std::time::Duration;

use crate::job::JobName;

/// What a job waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAwaited {
    /// The job.
    pub job: JobName,
    /// The lease that somebody whom the store forgot may have.
    pub lease: Duration,
    /// How long until it is over.
    pub frees_in: Duration,
}
