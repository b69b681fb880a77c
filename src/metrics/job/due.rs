//! By when a job's next tick has to be decided, and by when its next success is expected. Pure: alerts
//! compare both with the time, so one rule fits every schedule.

use std::time::Duration;

use crate::job::{JobSpec, Tick};
use crate::time::UtcMillis;

use super::figures::JobFigures;

/// Nothing is due earlier than this long after its tick. Metrics are read only now and then: what is decided
/// or succeeds every second would otherwise look late between two scrapes.
const LEAST: Duration = Duration::from_secs(120);

/// A run without a `timeout` is expected to take no longer than this, and no longer than until the next tick.
const LONGEST_RUN: Duration = Duration::from_secs(3_600);

/// Returns by when this tick, the first that is not decided, has to be decided: once its start deadline is
/// over, and a lock that was lost has run out.
pub fn decision_due(spec: &JobSpec, undecided: Tick) -> UtcMillis {
    due(undecided, spec.start_deadline_of(undecided) + spec.lease)
}

/// Returns by when the first success after this instant is expected: that of the first tick after it. `None`
/// if no tick is left.
pub fn success_due(spec: &JobSpec, after: UtcMillis) -> Option<UtcMillis> {
    let tick = spec.schedule.next_after(after)?;
    Some(due(tick, spec.start_deadline_of(tick).saturating_add(expected_run(spec, tick))))
}

/// Returns how long a run for this tick is expected to take.
pub(crate) fn expected_run(spec: &JobSpec, tick: Tick) -> Duration {
    let until_next = || {
        let next = spec.schedule.next_after(tick.instant());
        next.map_or(LONGEST_RUN, |next| next.instant().since(tick.instant()).min(LONGEST_RUN))
    };
    spec.timeout.unwrap_or_else(until_next)
}

/// Returns the instant after which the next success is awaited: the newest of the newest success, the last
/// change of the schedule, the last pause or resume, and the end of a pause, or `now` during one. `since` is
/// from when on the job is known to be in the file; it counts if the job never succeeded.
pub fn success_awaited_since(figures: &JobFigures, since: UtcMillis, now: UtcMillis) -> UtcMillis {
    let never =
        || figures.failing_since.filter(|_| figures.failures_in_row > 0).map_or(since, |bad| bad.min(since));
    let instants = [
        Some(figures.last_success_tick.map_or_else(never, Tick::instant)),
        Some(figures.schedule_since),
        figures.paused_at,
        figures.paused_until.map(|until| until.min(now)),
    ];
    instants.into_iter().flatten().max().unwrap_or(since)
}

fn due(tick: Tick, after: Duration) -> UtcMillis {
    tick.instant().plus(after.max(LEAST))
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
