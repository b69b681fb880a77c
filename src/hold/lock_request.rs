//! A request for the lock of a job, as its sender remembers it: a replica for a tick or an order, or `exec`.

use std::time::Duration;

use crate::job::{Cause, JobSpec, NodeName, Overlap, RunId, Schedule, Tick};
use crate::lease::{Abandon, Answer, Caller, Era, Holder, Lease, Manual, Reply, ScheduleHash};
use crate::time::UtcMillis;

/// A request for the lock of a job. It is sent again, as the same run, until it is granted or dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRequest {
    /// The run that would start.
    pub run: RunId,
    /// The era, as the sender knew it, in which the lock may have been granted.
    pub(crate) era: Era,
    /// Whether a request that got no answer may have been granted.
    pub(crate) unsure: bool,
}

/// What a lock is requested with, whichever run it is for.
pub(crate) struct LockTerms<'a> {
    pub(crate) node: &'a NodeName,
    /// The lease.
    pub(crate) length: Duration,
    /// The job's schedule, if it has one.
    pub(crate) schedule: Option<&'a Schedule>,
}

/// A granted lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Won {
    /// The lock, as its holder has to remember it.
    pub lease: Lease,
    /// The era in which it was granted.
    pub(crate) era: Era,
    /// Whether the tick waited for another run to end.
    pub(crate) waited: bool,
}

impl LockRequest {
    /// Returns a request under a new run id.
    pub(crate) fn new() -> Self {
        Self { run: RunId::new(), era: Era::default(), unsure: false }
    }

    /// Notes that it is sent in this era. A request that may have been granted before keeps the era of that one.
    pub(crate) fn sent_in(&mut self, era: &Era) {
        if !self.unsure {
            self.era = era.clone();
        }
    }

    /// Whether the lock is held by the run of this request: it was granted, and the answer did not come.
    pub(crate) fn is_held(&self, by: Option<&Holder>) -> bool {
        by.is_some_and(|holder| holder.run == self.run)
    }

    /// Returns the request that gives back what may have been granted.
    pub(crate) fn abandon(&self) -> Abandon {
        Abandon::of(self.run, self.era.clone())
    }

    /// Returns the request for a manual run, asked for at `asked`. It carries out no order, and waits while the lock is
    /// held.
    pub(crate) fn manual(&self, caller: Caller, tick: Tick, asked: UtcMillis, lease: Duration) -> Manual {
        let (run, overlap) = (self.run, Overlap::Wait);
        Manual { caller, run, tick, asked, order: None, lease, overlap, rerun_deadline: None }
    }

    /// Returns the lock that this reply grants; `None` if it grants none.
    pub(crate) fn won(&self, reply: &Reply, tick: Tick, cause: Cause, terms: LockTerms<'_>) -> Option<Won> {
        let Answer::Won { fence, tries, started } = reply.answer else { return None };
        let LockTerms { node, length, schedule } = terms;
        let before = UtcMillis(tick.as_millis() - 1);
        let lease = Lease {
            run: self.run,
            fence,
            tick,
            length,
            node: node.clone(),
            cause,
            tries,
            started,
            schedule_hash: schedule.map(ScheduleHash::of).unwrap_or_default(),
            mark: reply.mark.unwrap_or_default(),
            prev: schedule.and_then(|schedule| schedule.at_or_before(before)),
        };
        Some(Won { lease, era: self.era.clone(), waited: false })
    }
}

impl<'a> LockTerms<'a> {
    pub(crate) fn of_job(spec: &'a JobSpec, node: &'a NodeName) -> Self {
        Self { node, length: spec.lease, schedule: Some(&spec.schedule) }
    }
}

impl Won {
    /// Returns the request that gives the lock back: nothing was started under it.
    pub(crate) fn abandon(self) -> Abandon {
        Abandon::of(self.lease.run, self.era)
    }
}
