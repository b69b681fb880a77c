//! Marks that lie in the future, as the records tell when they are opened.

use crate::job::{JobName, UtcMillis};

/// Jobs of which a clock that was ahead has decided ticks that have not come yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarksAhead {
    /// How many jobs.
    pub jobs: usize,
    /// One of them.
    pub job: JobName,
    /// The newest tick of that job that is decided.
    pub mark: UtcMillis,
}
