//! Jobs that stand still, or will, for what the store remembers of a clock or a lease that is none any more.

use crate::job::UtcMillis;
use crate::lease::LeaseInstant;

use super::super::survey::JobState;
use super::super::times::{from_now, span, utc};
use super::{Kind, Trouble};

/// Ticks that have not come yet were decided, and ran, by a clock that was ahead.
pub(super) fn mark_ahead(job: &JobState, now: UtcMillis) -> Option<Trouble> {
    // A mark below which all of these are open again takes none away: it is no trouble, and the replicas log none.
    let (name, mark) = (&job.spec.name, job.record.as_ref()?.closed_after(now)?);
    let message = format!(
        "a clock was ahead: ticks of `{name}` up to {} UTC ({}) are decided, and those that ran then do not run again; \
         `solocron unlock --mark {name}` lets them",
        utc(mark),
        from_now(mark, now)
    );
    Some(Trouble::of_job(job, Kind::MarkAhead, message))
}

/// A job waits for a longer lease than its own, and nobody is known to hold one: the store forgot, and some replica remembers it.
/// An embedded store measures leases by another clock, and waits only for what was lost with its file.
pub(super) fn waits_for_lease(job: &JobState, now: UtcMillis) -> Option<Trouble> {
    let (name, lease) = (&job.spec.name, job.spec.lease);
    let waits = |until: UtcMillis| until.since(now) > lease;
    let record = job.record.as_ref().filter(|record| record.waits_for_nobody(LeaseInstant(now.0)))?;
    let until = Some(UtcMillis(record.until.0)).filter(|until| record.lease > lease && waits(*until))?;
    let message = format!(
        "`{name}` waits until {} UTC ({}) for a lease of {} that a holder which the store forgot may have; `solocron unlock {name}` \
         ends that wait",
        utc(until),
        from_now(until, now),
        span(record.lease)
    );
    Some(Trouble::of_job(job, Kind::LeaseAwaited, message))
}

#[cfg(test)]
#[path = "standstill_tests.rs"]
mod tests;
