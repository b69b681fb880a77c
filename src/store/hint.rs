//! Word that a tick is decided, or open again, told to everybody the moment it is.

use std::time::Duration;

use crate::job::JobName;
use crate::lease::{Era, Passed, Record, Reply, SCHEMA};
use crate::time::UtcMillis;

/// What a store tells everybody when a claim has decided a tick, so that those who would have asked for it need not; and
/// when that tick was given back. Nothing rests on it: a replica that does not hear of it asks, and one that does looks at
/// the job's mark. Others than the store may be able to send one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The job.
    pub job: JobName,
    /// The life of the store in which the tick was decided.
    pub era: Era,
    /// What whoever had asked for the tick right then would have been answered; or what was to whoever gave it back.
    pub reply: Reply,
}

/// How far a job's ticks are decided: what a replica reads that was told of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// The newest decided tick.
    pub mark: UtcMillis,
    /// The lease that the record tells.
    pub lease: Duration,
}

impl Marked {
    /// What a record tells; nothing, where a newer release wrote it, or where ticks below the mark are open again.
    pub fn of(record: &Record) -> Option<Self> {
        let is_open = record.leaps.iter().any(|leap| leap.passed == Passed::Open);
        (record.schema <= SCHEMA && !is_open).then_some(Self { mark: record.mark, lease: record.lease })
    }
}
