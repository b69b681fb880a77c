//! Ticks that do not run when they come, because a clock that was ahead has decided them. A replica learns of them when it
//! opens the records.

use crate::job::JobName;
use crate::time::UtcMillis;

/// Jobs with ticks that have not come yet, but were decided by a clock that was ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarksAhead {
    /// How many jobs.
    pub jobs: usize,
    /// One of them.
    pub job: JobName,
    /// The newest tick of that job that is decided and has not come.
    pub mark: UtcMillis,
}
