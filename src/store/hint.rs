//! Word that a tick is decided, or open again, told to everybody the moment it is.

use crate::job::JobName;
use crate::lease::{Era, Reply};

/// What a store tells everybody when a claim has decided a tick, so that those who would have asked for it need not; and
/// when that tick was given back. Nothing rests on it: who does not hear of it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The job.
    pub job: JobName,
    /// The life of the store in which the tick was decided.
    pub era: Era,
    /// What whoever had asked for the tick right then would have been answered; or what was to whoever gave it back.
    pub reply: Reply,
}
