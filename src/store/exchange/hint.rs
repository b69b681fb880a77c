//! Hints: messages to all replicas that a tick was just decided, or is open again.

use std::time::Duration;

use crate::job::{JobName, Outcome, Verdict};
use crate::lease::{Answer, Era, Passed, Protection, Record, Reply, Request, SCHEMA};
use crate::time::UtcMillis;

/// A message that a store sends to all replicas when a claim has decided a tick, so that they need not claim it, and when
/// that tick was abandoned. It decides nothing: a replica that misses it claims the tick, and one that receives it reads
/// the job's mark. Other programs than the store may be able to send one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The job.
    pub job: JobName,
    /// The era in which the tick was decided.
    pub era: Era,
    /// The reply that a claim for the tick would have received at that moment; for an abandoned tick, the reply that its
    /// holder received.
    pub reply: Reply,
}

impl Hint {
    /// Returns the hint that follows from a request and its reply; `None` unless the request decided its tick, or gave it back.
    /// `mark`: the job's mark before the request; `None` if there was no record.
    pub(crate) fn of(
        job: &JobName,
        era: &Era,
        request: &Request,
        mark: Option<UtcMillis>,
        reply: &Reply,
    ) -> Option<Self> {
        let answer = match request {
            Request::Abandon(_) if reply.mark < mark => reply.answer.clone(),
            Request::Claim(claim) if mark? < claim.tick.instant() && Protection::Mark.is_on() => {
                match &reply.answer {
                    Answer::Won { .. } => {
                        let how = Some(Verdict::plain(Outcome::Running));
                        Answer::Decided { by: Some(claim.caller.node.clone()), how }
                    }
                    // There is no hint of those: the mark was raised when the store was found to have forgotten.
                    Answer::Consumed(verdict) if verdict.outcome == Outcome::Unknown => return None,
                    Answer::Consumed(verdict) => Answer::Decided { by: None, how: Some(*verdict) },
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Self { job: job.clone(), era: era.clone(), reply: Reply { answer, ..reply.clone() } })
    }
}

/// How far a job's ticks are decided. A replica reads it after a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// The newest decided tick.
    pub mark: UtcMillis,
    /// The lease in the record.
    pub lease: Duration,
}

impl Marked {
    /// Returns the mark and lease of a record; `None` if a newer release wrote it, or if ticks below the mark are open
    /// again.
    pub fn of(record: &Record) -> Option<Self> {
        let is_open = record.leaps.iter().any(|leap| leap.passed == Passed::Open);
        (record.schema <= SCHEMA && !is_open).then_some(Self { mark: record.mark, lease: record.lease })
    }
}
