//! Finds jobs that do not run, or will not, because of a clock that was ahead or a lease that the store forgot.

use crate::lease::{HistoryEntry, LeaseInstant};
use crate::time::UtcMillis;
use crate::view::job::JobState;
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::{Rfc3339, from_now, span, utc};

use super::{ClusterProblem, Kind, is_late, is_well};

/// Reports ticks that have not come yet, but were decided, and may have run, by a clock that was ahead.
pub(super) fn mark_ahead(job: &JobState, snapshot: &Snapshot) -> Option<ClusterProblem> {
    // A mark below which all such ticks are open again prevents none: it is no problem, and the replicas do not log it.
    let (name, mark) = (&job.name, job.record.as_ref()?.closed_after(snapshot.now)?);
    let message = format!(
        "a clock was ahead: ticks of `{name}` up to {} UTC ({}) count as done, and those that ran do not run again; \
         `solocron unlock --mark {name}` lets them run",
        utc(mark),
        from_now(mark, snapshot.ages_to)
    );
    Some(ClusterProblem::of_job(job, Kind::MarkAhead, message))
}

/// Reports a job that waits for a longer lease than its own, which no replica is known to hold: the store forgot it, and a
/// replica remembers it. It finds nothing in an embedded store, which measures leases by another clock, and waits only for
/// what was lost with its file.
pub(super) fn waits_for_lease(job: &JobState, snapshot: &Snapshot) -> Option<ClusterProblem> {
    let now = snapshot.now;
    let (name, lease) = (&job.name, job.spec()?.lease);
    let waits = |until: UtcMillis| until.since(now) > lease;
    let record = job.record.as_ref().filter(|record| record.waits_without_holder(LeaseInstant(now.0)))?;
    let until =
        Some(UtcMillis(record.locked_until.0)).filter(|until| record.lease > lease && waits(*until))?;
    let message = format!(
        "`{name}` waits until {} UTC ({}) because the store lost a lock with a lease of {}, and its holder may still run; `solocron unlock {name}` \
         ends the wait",
        utc(until),
        from_now(until, snapshot.ages_to),
        span(record.lease)
    );
    Some(ClusterProblem::of_job(job, Kind::LeaseAwaited, message))
}

/// Reports jobs that wait one lease because the store was restarted or lost their records: a replica that it forgot may
/// hold their locks.
pub(super) fn store_reset(snapshot: &Snapshot) -> Option<ClusterProblem> {
    let (jobs, now) = (&snapshot.jobs, snapshot.now);
    let wait = |job: &JobState| {
        let record = job.record.as_ref().filter(|record| record.waits_without_holder(LeaseInstant(now.0)))?;
        let (until, spec) = (UtcMillis(record.locked_until.0), job.spec()?);
        // A first start waits two seconds, and a longer wait than the job's own lease is reported by itself.
        let is_usual = record.lease >= spec.lease && until.since(now) <= spec.lease;
        (is_usual && spec.enabled).then_some(until)
    };
    let waits: Vec<(&JobState, UtcMillis)> = jobs.iter().filter_map(|job| Some((job, wait(job)?))).collect();
    let last = waits.iter().map(|(_, until)| *until).max()?;
    let who = match waits[..] {
        [(one, _)] => format!("`{}` does not start", one.name),
        [(one, _), (other, _)] => format!("`{}` and `{}` do not start", one.name, other.name),
        [(one, _), ..] => format!("`{}` and {} more jobs do not start", one.name, waits.len() - 1),
        [] => return None,
    };
    let message = format!(
        "the store was restarted or lost records: {who} before {} UTC ({}), because a former run may still be running",
        utc(last),
        from_now(last, snapshot.ages_to)
    );
    Some(ClusterProblem::of_cluster(Kind::StoreReset, message))
}

/// Reports a tick that may have run, and of which the store forgot whether it did: it gets no entry before the next tick is
/// claimed. It is not reported once a later tick has ended well: then the job is well.
pub(super) fn untold(job: &JobState, snapshot: &Snapshot) -> Option<ClusterProblem> {
    let now = snapshot.now;
    let record = job.record.as_ref()?;
    let spec = job.by_this_schedule(record)?;
    let tick = record.first_untold(|after| spec.schedule.next_after(after))?;
    let has_come_since = |entry: &HistoryEntry| entry.tick > tick && entry.tick.instant() <= now;
    let is_over = job.entries.iter().any(|entry| has_come_since(entry) && is_well(entry.outcome));
    (is_late(spec, tick, now) && !is_over).then(|| {
        let message = format!(
            "`{}`: the store forgot whether its tick of {} UTC ({}) ran; see the replicas' logs (with the next tick, it \
             is recorded as unknown)",
            spec.name,
            utc(tick.instant()),
            from_now(tick.instant(), snapshot.ages_to)
        );
        ClusterProblem { since: Some(Rfc3339(tick.instant())), ..ClusterProblem::of_job(job, Kind::Overdue, message) }
    })
}

#[cfg(test)]
#[path = "standstill_tests.rs"]
mod tests;
