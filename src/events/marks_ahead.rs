//! Ticks that do not run when they come, as a clock that was ahead has decided them; the records tell it when they are opened.

use crate::job::JobName;
use crate::time::UtcMillis;

/// Jobs of which a clock that was ahead has decided ticks that have not come yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarksAhead {
    /// How many jobs.
    pub jobs: usize,
    /// One of them.
    pub job: JobName,
    /// The newest tick of that job that is decided and has not come.
    pub mark: UtcMillis,
}
