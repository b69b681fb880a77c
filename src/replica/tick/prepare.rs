//! Prepares the next ticks (guards, log folders, claims ahead of the instant), and plans anew after a step of the wall
//! clock and after heartbeats.

use std::cmp::Reverse;
use std::sync::PoisonError;
use std::time::Duration;

use crate::events::event::Event;
use crate::job::JobName;
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::cluster::store_health::HealthChange;
use crate::replica::core::{Core, Effect};
use crate::store::StageTimes;

use super::claiming::{Contest, asked_ahead};
use super::eligibility::Eligibility;
use super::next_ticks::Coming;
use super::ticker::{LEAD, take_coming};

/// Ticks are planned anew when the clock by which they are due turns out to be off by more than this.
const REPLAN: Duration = Duration::from_millis(500);

/// A guard that is ready for a tick waits this long after its instant.
const RESERVED_FOR: Duration = Duration::from_secs(2);

impl Core {
    /// Handles a step of the wall clock: plans every tick anew, and checks what is due by now.
    pub(crate) fn clock_stepped(&mut self) {
        self.report(Event::ClockStepped);
        // The embedded store uses the same clock, and the offset of another store's clock has to be measured again.
        self.beats_now = true;
        self.plan_anew();
    }

    /// Whether the wall clock was stepped since its last reading, and no timer reported it.
    fn notice_quiet_step(&mut self) -> bool {
        let before = self.health.wall.replace(self.at);
        before.is_some_and(|before| self.at.is_stepped_since(&before, REPLAN))
    }

    fn plan_anew(&mut self) {
        self.health.wall = Some(self.at);
        let now = self.now();
        self.alarms.clear();
        self.close_what_is_ahead();
        self.open_records();
        self.next_ticks.lock().unwrap_or_else(PoisonError::into_inner).replan(now);
        let coming = take_coming(&self.next_ticks, now);
        self.expect(coming);
        self.look_at_all();
    }

    /// Requires a record to be opened again if its known mark, or the start of its schedule, lies ahead: a clock that
    /// was ahead has set it.
    fn close_what_is_ahead(&mut self) {
        let now = self.now();
        let ahead = self.contests.values_mut().filter(|contest| contest.is_ahead(now));
        ahead.for_each(Contest::close);
    }

    /// Ends the waits of all jobs and checks them: what they wait for may have happened.
    fn look_at_all(&mut self) {
        let now = self.now();
        let mut jobs: Vec<JobName> = self.contests.keys().cloned().collect();
        // Each replica begins with other jobs: where thousands wait, no two ask for the same ones first.
        let turn =
            self.node.as_str().bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31) + usize::from(byte));
        let first = turn.checked_rem(jobs.len()).unwrap_or_default();
        jobs.rotate_left(first);
        for job in jobs {
            self.contests.get_mut(&job).expect("the name was just taken from there").hurry(now);
            self.look_at(&job, now);
        }
    }

    /// Prepares each tick that this replica is the first to claim, ahead of its instant: a guard, a folder for the log,
    /// and the claim itself.
    pub(crate) fn prepare(&mut self, coming: &[Coming]) {
        let is_first = |coming: &Coming| {
            self.jobs.get(&coming.job).is_some_and(|job| {
                let has_slot = self.capacity.has_slot_for(&coming.job);
                let takes = self.health.roster.standing(&job.spec, has_slot) == Eligibility::Takes;
                // A tick that was announced before a reload may not be in the schedule any more.
                let is_scheduled =
                    || job.spec.schedule.at_or_before(coming.tick.instant()) == Some(coming.tick);
                takes && self.health.roster.stagger(&job.spec, coming.tick).is_zero() && is_scheduled()
            })
        };
        let now = self.now();
        let apart = now.since(self.store_time());
        let first: Vec<_> = asked_ahead(coming, apart).filter(|(coming, _)| is_first(coming)).collect();
        let last = first.iter().map(|(coming, _)| coming.tick.instant()).max();
        let Some(last) = last.filter(|_| !self.draining) else { return };
        let left = last.since(now).min(LEAD);
        let (runs, until) = (first.len(), self.at.boot.plus(left + RESERVED_FOR));
        for (Coming { job, tick }, from) in &first {
            if let Some(contest) = self.contests.get_mut(job) {
                contest.call(*tick, *from, now);
                self.alarms.push(Reverse((*from, job.clone())));
            }
        }
        let jobs: Vec<JobName> = first.into_iter().map(|(coming, _)| coming.job.clone()).collect();
        self.effects.push(Effect::Prepare { runs, until, jobs });
    }

    /// Returns how far the wall clock is ahead of the clock by which ticks are due.
    fn ahead(&self) -> Duration {
        self.at.wall.since(self.now())
    }

    /// Logs the jobs that no live replica may run.
    fn log_unschedulable_jobs(&mut self) {
        let jobs = self.contests.values().filter(|contest| !contest.is_retired()).map(Contest::spec);
        let events = self.unschedulable.look(&self.health.roster, jobs, self.at.boot);
        self.effects.extend(events.into_iter().map(Effect::Report));
    }

    /// Processes a heartbeat that was answered, or got no answer.
    pub(crate) fn exchanged(&mut self, exchange: Exchange, stages: Vec<StageTimes>) {
        if self.notice_quiet_step() {
            self.clock_stepped();
        }
        self.inspect_if_due(&exchange.result);
        let (was_ahead, was_out) = (self.ahead(), self.health.outage().is_some());
        let change = self.health.take_in(&exchange, &mut self.store_clock.lock());
        self.effects.extend(self.health.take_events().map(Effect::Report));
        self.update_beat(|beat| beat.stages = stages);
        if let Some(count) = self.late_claims.news(self.at.boot) {
            self.report(Event::ClaimsUnsynced { count });
        }
        let Ok(pulse) = exchange.result else { return };
        self.log_unschedulable_jobs();
        if change == HealthChange::Reopen {
            self.contests.values_mut().for_each(Contest::close);
            self.opening.values_mut().for_each(|begun| *begun = None);
            self.effects.extend(self.runs.keys().copied().map(Effect::Renew));
            self.doubt_the_store();
        }
        if change == HealthChange::Stepped {
            self.close_what_is_ahead();
        }
        let down = self.lost.silence.learn(&self.node, &pulse.peers, self.at.boot);
        self.hear_of_runs(&pulse.peers);
        self.look_at_locks();
        self.open_records();
        // Only after the records are known to be unopened, if the era has changed.
        self.look_after_lost_runs(&pulse, down);
        self.heed(pulse.notices);
        self.ask_for_orders();
        if self.ahead().abs_diff(was_ahead) > REPLAN {
            self.plan_anew();
        } else if was_out {
            self.look_at_all();
        }
    }
}
