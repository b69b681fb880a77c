//! Checks at the end: no tick was missed without a cause, and every job runs again.

use std::time::Duration;

use crate::job::{Cause, Outcome, Reason, Tick};
use crate::lease::HistoryEntry;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::process::Process;
use crate::replica::simulation::world::{FAULTS, QUIET, World};

use super::records::{by_tick, covers};
use super::safety::{Broken, Violation};

/// Replicas read the store's clock once a second.
pub(super) const SLACK: Duration = Duration::from_secs(1);

/// A replica with a free slot takes a tick that waits for one within this long.
const TAKES_A_SLOT_WITHIN: Duration = Duration::from_secs(3);

impl World {
    /// Judges the whole history.
    pub(crate) fn judge(&mut self) -> Result<(), Violation> {
        for job in 0..self.scenario.count() {
            self.has_run_again(job)?;
            self.is_foretold(job)?;
            self.is_told(job)?;
            self.is_known_to_have_run(job)?;
            self.is_left_behind_rightly(job)?;
            self.runs_again(job)?;
        }
        Ok(())
    }

    /// Each job runs again once faults stop, however slowly, unless no replica has a slot for any of its ticks.
    fn has_run_again(&self, job: usize) -> Result<(), Violation> {
        let settled = Moment(0).plus(FAULTS + QUIET / 4);
        let has_run = |run: &Process| run.started > settled && run.lease.cause != Cause::Manual;
        let ticks = self.scenario.spec(job).schedule.ticks_after(settled.utc());
        let mut ticks = ticks.take_while(|tick| tick.instant() < self.now.utc());
        if self.runs(job).any(has_run) || ticks.all(|tick| self.had_no_slot(job, tick)) {
            return Ok(());
        }
        Err(Violation::of(Broken::Stalled, format!("j{job} never ran after {settled:?}")))
    }

    /// Once all faults are over and a lease has passed, every tick runs, or does not for a cause of that moment.
    fn runs_again(&self, job: usize) -> Result<(), Violation> {
        let settled = self.settled();
        let spec = self.scenario.spec(job);
        let entries = by_tick(&self.server.told[job]);
        let mut at = settled.utc();
        while let Some(tick) = spec.schedule.next_after(at) {
            at = tick.instant();
            let decided_by = spec.start_deadline_of(tick) + self.scenario.longest_lease(job) + SLACK * 5;
            if at.plus(decided_by) > self.now.utc() {
                break;
            }
            let told: Vec<&HistoryEntry> =
                entries.iter().filter(|entry| covers(entry, tick)).copied().collect();
            // It may be its own, or one that it waits for. The end of one that is just over is still to be recorded.
            let is_unrecorded =
                |run: &Process| !run.is_over || run.ends.max(run.learned).plus(SLACK) > self.now;
            let is_running = self.runs(job).any(is_unrecorded) || self.is_full();
            if told.is_empty() && !is_running {
                let how = format!("j{job}: nothing is told of tick {tick}, after {settled:?}");
                return Err(Violation::of(Broken::Stalled, how));
            }
            self.has_good_cause(job, tick, &told)?;
        }
        Ok(())
    }

    /// When the last fault was over, and a lease had passed.
    fn settled(&self) -> Moment {
        let over = self.troubles.iter().map(|(_, end)| *end).max();
        over.unwrap_or_default().plus(self.scenario.longest() + SLACK * 5)
    }

    /// Whether no fault was within the start deadline and one lease of the tick.
    pub(super) fn is_calm_around(&self, job: usize, tick: Tick) -> bool {
        let spec = self.scenario.spec(job);
        let around = spec.start_deadline_of(tick) + self.scenario.longest_lease(job);
        let Some(came) = self.came(tick) else { return false };
        let (from, to) = (Moment(came.0.saturating_sub(millis(around))), came.plus(around));
        to < self.now && !self.troubles.iter().any(|(start, end)| *start <= to && *end >= from)
    }

    /// The tick ran, or was skipped or paused; where another run was going for longer than its start deadline, it was
    /// too late.
    pub(super) fn has_good_cause(
        &self,
        job: usize,
        tick: Tick,
        told: &[&HistoryEntry],
    ) -> Result<(), Violation> {
        let is_good = |entry: &&&HistoryEntry| {
            self.was_claimed(job, entry)
                || match (entry.outcome, entry.reason) {
                    // Ticks that waited for a slot share one entry, with the reason that held up the oldest of them.
                    (Outcome::Missed, Some(reason)) => {
                        let was_held_up = matches!(reason, Reason::Late | Reason::Overlap);
                        // A tick that waited shares the entry of later ticks. The reason may be theirs: a fault near them.
                        let is_of_later = entry.tick > tick && !self.is_calm_around(job, entry.tick);
                        // The reason of a tick that came twice is of the second time.
                        (was_held_up || is_of_later || self.came_twice(tick)) && self.has_run_near(job, tick)
                            || self.had_no_slot(job, tick)
                    }
                    (Outcome::Unknown, Some(Reason::LeftBehind)) => entry.run.is_some() && entry.tick == tick,
                    // A tick that came before the next claim shares the entry of what was forgotten; so does one that
                    // waited for a run to end, or for a slot, when another era began, in which no record shows that.
                    (Outcome::Unknown, _) => {
                        self.server.has_forgotten[job]
                            || self.has_run_near(job, tick)
                            || self.had_no_slot(job, tick)
                    }
                    (Outcome::Missed, None) => false,
                    _ => true,
                }
        };
        if told.is_empty() || told.iter().any(|entry| is_good(&entry)) {
            return Ok(());
        }
        Err(Violation::of(Broken::Missed, format!("j{job}, tick {tick}: {told:#?}")))
    }

    /// Whether runs of other jobs may have all slots.
    fn is_full(&self) -> bool {
        self.scenario.is_limited && self.witness.alive().next().is_some()
    }

    /// Whether replicas run only so many jobs at once, and none had a slot within the tick's start deadline; one that had
    /// may have had none when the job's own run ended.
    fn had_no_slot(&self, job: usize, tick: Tick) -> bool {
        let Some(came) = self.came(tick) else { return false };
        let until = came.plus(self.scenario.spec(job).start_deadline_of(tick));
        self.scenario.is_limited && (self.were_full(came, until) || self.has_run_near(job, tick))
    }

    /// Whether each replica was running something all the time.
    fn were_full(&self, from: Moment, to: Moment) -> bool {
        let is_busy = |seat: usize| {
            let its = self.witness.runs.iter().filter(|run| run.seat == seat);
            let mut spans: Vec<_> = its.map(|run| (run.started, run.ends.max(run.learned))).collect();
            spans.sort_unstable();
            let mut busy_until = from;
            for (start, end) in spans.into_iter().chain([(to, to)]) {
                if start.min(to) > busy_until.plus(TAKES_A_SLOT_WITHIN) {
                    return false;
                }
                busy_until = busy_until.max(end);
            }
            true
        };
        (0..self.scenario.replicas).all(is_busy)
    }

    /// Whether another run was going within the tick's start deadline.
    fn has_run_near(&self, job: usize, tick: Tick) -> bool {
        let spec = self.scenario.spec(job);
        let Some(came) = self.came(tick) else { return false };
        let until = came.plus(spec.start_deadline_of(tick) + Duration::from_secs(1));
        self.runs(job).any(|run| run.started <= until && run.ends >= came)
    }

    pub(super) fn runs(&self, job: usize) -> impl Iterator<Item = &Process> {
        self.witness.runs.iter().filter(move |run| run.job == job)
    }

    /// Whether the store's clock was set back after the tick's instant, to before it.
    fn came_twice(&self, tick: Tick) -> bool {
        let Some(came) = self.came(tick) else { return false };
        self.store_steps.iter().any(|(at, shown)| came <= *at && *shown < tick.instant())
    }

    /// When the tick's instant came, if it did.
    pub(super) fn came(&self, tick: Tick) -> Option<Moment> {
        let since = tick.instant().since(Moment(0).utc());
        Some(Moment(0).plus(since)).filter(|came| *came <= self.now)
    }
}

fn millis(of: Duration) -> u64 {
    u64::try_from(of.as_millis()).expect("short")
}
