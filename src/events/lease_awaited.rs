//! A job that waits for a longer lease than its own in jobs.toml, which no replica is known to hold.

use std::time::Duration;

use crate::job::JobName;

/// The lease that a job waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAwaited {
    /// The job.
    pub job: JobName,
    /// The lease that a holder may have whose lock the store forgot.
    pub lease: Duration,
    /// How long until it is over.
    pub frees_in: Duration,
}
