//! Jobs that stand still, or will, for what the store remembers of a clock that was ahead.

use crate::job::UtcMillis;

use super::super::survey::JobState;
use super::super::times::{from_now, utc};
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

#[cfg(test)]
#[path = "standstill_tests.rs"]
mod tests;
