//! Whether an entry says what happened to its tick.

use std::time::Duration;

use crate::hold::attempts::Retries;
use crate::job::{CatchUp, Cause, JobSpec, Outcome, Overlap, Reason, Tick};
use crate::lease::HistoryEntry;
use crate::replica::simulation::world::clock::Moment;
use crate::time::UtcMillis;

use super::WEEK;
use super::account::{Account, InForce, PastRun};
use super::jobs::LEASE;
use super::log::Span;

/// After an outage, a start, or the loss of a lock, nothing is granted for a lease, and the next claim may come a
/// little later.
const RECOVERY: Duration = Duration::from_secs(75);

/// A tick that nothing prevented for this long has no excuse.
const NO_EXCUSE: Duration = Duration::from_secs(90);

/// An event that is recorded for an instant may have happened a moment before or after.
const SLACK: Duration = Duration::from_secs(1);

fn moment(at: UtcMillis) -> Moment {
    Moment(u64::try_from(at.0 - Moment(0).utc().0).unwrap_or_default())
}

impl Account<'_> {
    /// What is wrong with the only record of a tick.
    pub(super) fn is_wrong(
        &self,
        in_force: &InForce<'_>,
        tick: Tick,
        entry: &HistoryEntry,
    ) -> Option<String> {
        let spec = &in_force.phase.spec;
        let came = moment(tick.instant());
        let from = entry.after.map_or(came, moment);
        let told = Span { from, to: moment(entry.finished) };
        if let Some(what) = miscounted(spec, entry) {
            return Some(what);
        }
        if let Some(run) = entry.run {
            let its = self.runs.iter().find(|its| its.lease.run == run);
            return its.map_or_else(
                || (!self.log.unheard.contains(&run)).then(|| "tells of a run that never was".to_owned()),
                |its| self.is_wrong_run(spec, its, entry),
            );
        }
        match (entry.outcome, entry.reason) {
            (Outcome::Skipped, Some(Reason::Paused)) => {
                let pauses = self.log.pauses.get(&in_force.job).into_iter().flatten();
                let at = Span::at(moment(entry.finished));
                (!pauses.into_iter().any(|span| span.meets(at))).then(|| "was not paused".to_owned())
            }
            (Outcome::Skipped, Some(Reason::Overlap)) => {
                let around = Span { from: Moment(came.0.saturating_sub(1_000)), to: came.plus(SLACK) };
                // A replica that did not receive its grant, and claims again, counts as running from its grant on.
                let held = |run: &PastRun<'_>| Span { from: moment(run.lease.started), ..alive(run) };
                let was_alive = self.runs_of(in_force).any(|run| held(run).meets(around));
                let may = spec.overlap == Overlap::Skip && was_alive;
                (!may).then(|| "was skipped, and nothing ran".to_owned())
            }
            (Outcome::Unknown, Some(Reason::StoreReset)) => {
                let was_reset = self.log.lives.iter().any(|at| Span::at(*at).meets(told));
                (!was_reset).then(|| "is unknown, and nothing was forgotten".to_owned())
            }
            (Outcome::Missed, Some(reason)) => self
                .is_wrong_reason(in_force, reason, told)
                .or_else(|| self.is_missed_for_nothing(in_force, tick, reason)),
            _ => Some("has a record that cannot be".to_owned()),
        }
    }

    fn runs_of<'a>(&'a self, in_force: &'a InForce<'_>) -> impl Iterator<Item = &'a PastRun<'a>> {
        self.runs.iter().filter(|run| run.job == in_force.job)
    }

    fn is_wrong_run(&self, spec: &JobSpec, run: &PastRun<'_>, entry: &HistoryEntry) -> Option<String> {
        let (ended, verdict) = run.ended?;
        if (run.lease.tick, Some(run.lease.fence)) != (entry.tick, entry.fence) {
            return Some("tells of another run".to_owned());
        }
        // A replica that could not report in time was taken to be gone.
        let was_late = run.recorded.is_none_or(|at| at.since(ended) > Duration::from_secs(5));
        let was_away = self.was_away(run.seat, Span { from: run.started, to: ended.plus(SLACK) });
        let was_given_up = entry.reason == Some(Reason::NodeLost)
            && (was_late || was_away || verdict.outcome == Outcome::Interrupted);
        // It may have been stopped in the pause before its next attempt.
        let pauses_after = |attempt| Retries::of(spec).pause_after(attempt, verdict.outcome).is_some();
        let was_stopped_in_pause =
            entry.outcome == Outcome::Interrupted && entry.attempt.is_some_and(pauses_after);
        if entry.verdict() != verdict && !was_given_up && !was_stopped_in_pause {
            return Some(format!("ended {verdict}"));
        }
        if entry.verdict() == verdict && entry.attempt.is_some_and(|attempt| attempt != run.attempt) {
            return Some(format!("had {} attempts", run.attempt));
        }
        let late_by = run.started.utc().since(entry.tick.instant());
        let limit = spec.start_deadline_of(entry.tick);
        // A replica with a slow clock cannot know that it was late.
        let was_off = self.was_away(run.seat, Span::at(run.started));
        match entry.cause {
            Cause::Schedule if late_by > limit + SLACK && !was_off => Some("started too late".to_owned()),
            Cause::CatchUp if spec.catch_up != CatchUp::Last => {
                Some("was not to be caught up with".to_owned())
            }
            Cause::CatchUp if late_by <= limit => Some("was not late".to_owned()),
            _ => None,
        }
    }

    fn is_wrong_reason(&self, in_force: &InForce<'_>, reason: Reason, told: Span) -> Option<String> {
        let is_right = match reason {
            Reason::StoreUnreachable => {
                let lost = self.log.lost.get(&in_force.job).into_iter().flatten().copied();
                let outages = self.log.outages.iter().copied();
                outages.chain(lost.map(Span::at)).any(|span| span.meets(told))
            }
            // A replica that was away knows no other reason.
            Reason::NoReplica => self.fit(in_force).any(|seat| self.was_away(seat, told)),
            Reason::Late | Reason::Overlap => true,
            Reason::Edited => {
                in_force.phase.last >= told.from || in_force.next.is_some_and(|next| next.from <= told.to)
            }
            Reason::Abandoned => !self.log.unheard.is_empty(),
            _ => false,
        };
        (!is_right).then(|| "is not missed for that reason".to_owned())
    }

    /// Checks that something prevented a missed tick for as long as it could start.
    fn is_missed_for_nothing(&self, in_force: &InForce<'_>, tick: Tick, reason: Reason) -> Option<String> {
        let spec = &in_force.phase.spec;
        let came = moment(tick.instant());
        let next = spec.schedule.next_after(tick.instant()).map_or(came, |next| moment(next.instant()));
        let until = match spec.catch_up {
            CatchUp::Last => next,
            CatchUp::None => came.plus(spec.start_deadline_of(tick)),
        };
        // To check each of thousands of runs, for each moment, would take longer than the week.
        let near: Vec<&PastRun<'_>> =
            self.runs_of(in_force).filter(|run| run.started <= until && busy_until(run) >= came).collect();
        let is_busy = |at: Moment| near.iter().any(|run| run.started <= at && at <= busy_until(run));
        let is_free = |at: Moment| !is_busy(at) && !self.is_out(at) && !self.nobody_at(in_force, at);
        let free = longest(Span { from: came, to: until }, is_free);
        (free > NO_EXCUSE).then(|| format!("is missed ({reason}), and nothing stood in its way for {free:?}"))
    }

    /// The seats whose replicas carry the job's labels.
    fn fit<'a>(&'a self, in_force: &InForce<'a>) -> impl Iterator<Item = usize> + 'a {
        let labels = &in_force.phase.spec.only_on;
        let files = &self.world.scenario.files;
        let is_fit = move |seat: &usize| labels.iter().all(|label| files[*seat].labels.contains(label));
        (0..files.len()).filter(is_fit)
    }

    fn was_away(&self, seat: usize, during: Span) -> bool {
        let spans = self.log.absences.get(&seat).into_iter().flatten();
        spans.into_iter().any(|span| Span { to: span.to.plus(RECOVERY), ..*span }.meets(during))
    }

    fn nobody_at(&self, in_force: &InForce<'_>, at: Moment) -> bool {
        self.fit(in_force).all(|seat| self.was_away(seat, Span::at(at)))
    }

    /// Whether the store was away, or nothing was granted after that.
    fn is_out(&self, at: Moment) -> bool {
        self.log.outages.iter().any(|span| span.from <= at && at <= span.to.plus(RECOVERY))
    }
}

/// Checks that an entry with a count stands for as many ticks.
fn miscounted(spec: &JobSpec, entry: &HistoryEntry) -> Option<String> {
    let (after, said) = (entry.after?, entry.count?);
    let ticks = spec.schedule.ticks_after(after);
    let count = ticks.take_while(|tick| *tick <= entry.tick).count() as u64;
    (said != count).then(|| format!("stands for {count} ticks, and says {said}"))
}

/// Until when the lock of a run may have stood in the way of the next.
fn busy_until(run: &PastRun<'_>) -> Moment {
    let to = alive(run).to;
    let is_told = run.recorded.is_some_and(|told| told.since(to) < SLACK);
    if is_told { to } else { to.plus(LEASE + RECOVERY) }
}

/// From when to when something of the run was there.
fn alive(run: &PastRun<'_>) -> Span {
    Span { from: run.started, to: run.ended.map_or(WEEK, |(at, _)| at) }
}

/// Moments of the span, close enough to each other.
fn looks(span: Span) -> impl Iterator<Item = Moment> {
    const LOOK_EVERY: Duration = Duration::from_secs(5);
    let following = move |at: &Moment| (*at < span.to).then(|| at.plus(LOOK_EVERY).min(span.to));
    std::iter::successors(Some(span.from), following)
}

/// The longest time within the span for which this holds.
fn longest(span: Span, holds: impl Fn(Moment) -> bool) -> Duration {
    let (mut since, mut longest) = (None, Duration::ZERO);
    for at in looks(span) {
        since = holds(at).then(|| since.unwrap_or(at));
        longest = longest.max(since.map_or(Duration::ZERO, |since| at.since(since)));
    }
    longest
}
