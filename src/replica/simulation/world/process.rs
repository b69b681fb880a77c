//! The process of a run, and its guard, which kills it at the deadline that was last sent, at the end of its replica,
//! and on order.

use std::time::Duration;

use crate::job::{Outcome, Verdict};
use crate::lease::{Lease, Protection};
use crate::replica::recovery::orphans::Seen;
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::world::{Event, Happening, World};
use crate::run::{HEARING, StopReason};
use crate::time::BootInstant;

use super::clock::Moment;
use super::rng::Dice;

/// What SIGKILL may take, and timers may be late, at the most; the holder's margin has a second for it.
const SLOWEST_DEATH: u64 = 1_000;

/// How a guard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    Well,
    /// Until this moment.
    Frozen(Moment),
    /// Killed: the zygote has killed its job.
    Dead,
}

/// A run as the machine has it.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) job: usize,
    pub(crate) seat: usize,
    /// Which process of the replica started it.
    pub(crate) life: u32,
    pub(crate) lease: Lease,
    pub(crate) attempt: u32,
    pub(crate) started: Moment,
    /// When nothing of it is left, as things stand.
    pub(crate) ends: Moment,
    /// How it ends, as things stand.
    pub(crate) verdict: Verdict,
    pub(crate) is_over: bool,
    /// When its replica learned that it is over, if no guard told when that was.
    pub(crate) learned: Moment,
    pub(crate) guard: Guard,
    /// The deadline that the guard received last; below, when it received that, and how long that was before it.
    pub(crate) deadline: BootInstant,
    pub(crate) told: (Moment, Duration),
    /// When the last good claim or renewal was sent.
    pub(crate) last_good: Moment,
    /// Whether the end of the run is recorded, and not as interrupted; and when its end was recorded, however.
    pub(crate) is_recorded: bool,
    pub(crate) recorded: Option<Moment>,
    /// Whether its machine sleeps through its deadline: the promise does not cover it.
    pub(crate) outsleeps_deadline: bool,
    /// Whether no signal reaches it: it ends by itself.
    pub(crate) is_unkillable: bool,
    /// Whether it has lost the lock that it still needs: the store ended the run, or granted the lock to another.
    pub(crate) has_lost_lock: bool,
    /// Why it was ordered to stop, without effect.
    ordered: Option<StopReason>,
    loss_grace: Duration,
    /// How long it takes to obey SIGTERM.
    obeys: Duration,
}

/// What is known of a command before it is started.
pub(crate) struct StartPlan {
    pub(crate) job: usize,
    pub(crate) seat: usize,
    pub(crate) life: u32,
    pub(crate) lease: Lease,
    pub(crate) attempt: u32,
    /// The deadline that its guard gets, and how far ahead that is.
    pub(crate) deadline: BootInstant,
    pub(crate) left: Duration,
    pub(crate) loss_grace: Duration,
    /// How long it would go on.
    pub(crate) length: Duration,
}

impl Process {
    /// A command that was just started.
    pub(crate) fn start(plan: StartPlan, now: Moment, dice: &mut Dice) -> Self {
        let StartPlan { job, seat, life, lease, attempt, deadline, left, loss_grace, length } = plan;
        let obeys = if dice.percent(50) { dice.ms(0, 50) } else { Duration::MAX };
        Self {
            job,
            seat,
            life,
            lease,
            attempt,
            started: now,
            ends: now.plus(length),
            verdict: Verdict::plain(if dice.percent(80) { Outcome::Succeeded } else { Outcome::Failed }),
            is_over: false,
            learned: now,
            guard: Guard::Well,
            deadline,
            told: (now, left),
            last_good: now,
            is_recorded: false,
            recorded: None,
            outsleeps_deadline: false,
            is_unkillable: false,
            has_lost_lock: false,
            ordered: None,
            loss_grace,
            obeys,
        }
    }

    /// The guard receives a deadline. At `now` the boot clock shows that `left` remains.
    pub(crate) fn hear(&mut self, deadline: BootInstant, now: Moment, left: Duration) {
        if deadline > self.deadline {
            (self.deadline, self.told) = (deadline, (now, left));
        }
    }

    /// SIGTERM, then SIGKILL after the grace. True when it now ends sooner.
    pub(crate) fn stop(&mut self, now: Moment, grace: Duration, reason: StopReason, dice: &mut Dice) -> bool {
        if self.is_unkillable {
            // It was ordered to stop: that is its verdict, whenever it ends.
            let joined = self.ordered.map_or(reason, |earlier| earlier.join(reason));
            (self.ordered, self.verdict) = (Some(joined), joined.verdict());
            return false;
        }
        let death = Duration::from_millis(SLOWEST_DEATH).min(dice.ms_of_any_order(SLOWEST_DEATH));
        let ends = now.plus(grace.min(self.obeys)).plus(death);
        let is_sooner = !self.is_over && ends < self.ends;
        if is_sooner {
            self.ends = ends;
            self.verdict = reason.verdict();
        }
        is_sooner
    }

    /// Stops it at its deadline, or because its replica is gone.
    pub(crate) fn stop_by_guard(&mut self, now: Moment, dice: &mut Dice) -> bool {
        if !Protection::Guard.is_on() || self.guard != Guard::Well {
            return false;
        }
        self.stop(now, self.loss_grace, StopReason::LockLost, dice)
    }

    /// Handles the loss of the guard: the zygote, which forked it, kills the job at once.
    pub(crate) fn lose_guard(&mut self, now: Moment, dice: &mut Dice) -> bool {
        self.guard = Guard::Dead;
        self.stop(now, Duration::ZERO, StopReason::GuardLost, dice)
    }

    /// Its replica learns that it is over. Returns how long ago that was, as far as the replica knows: its guard tells, and
    /// without one it has just ended.
    pub(crate) fn learn_end(&mut self, now: Moment, ago: Duration) -> Duration {
        if self.guard == Guard::Dead {
            self.learned = now;
            return Duration::ZERO;
        }
        if ago > HEARING { ago } else { Duration::ZERO }
    }

    /// Whether it was interrupted, as far as that is recorded: by its replica, or because its lock was lost.
    pub(crate) fn was_cut_short(&self) -> bool {
        (self.is_over || self.has_lost_lock) && !self.is_recorded
    }

    /// Whether this process of the replica started it.
    pub(crate) fn is_of(&self, seat: usize, life: u32) -> bool {
        (self.seat, self.life) == (seat, life)
    }
}

impl World {
    /// Schedules the end of a run.
    pub(crate) fn expect_end(&mut self, run: usize) {
        self.at_moment(self.witness.runs[run].ends, Event::Over(run));
    }

    /// Has the guard wait for the deadline that it received.
    pub(crate) fn watch_deadline(&mut self, run: usize) {
        let process = &self.witness.runs[run];
        let due = self.deadline_of(process);
        let due = if let Guard::Frozen(until) = process.guard { due.max(until) } else { due };
        self.at_moment(due, Event::GuardDue(run));
    }

    pub(crate) fn guard_due(&mut self, run: usize) {
        let process = &self.witness.runs[run];
        let is_due = self.deadline_of(process) <= self.now;
        if process.is_over || !is_due || process.guard != Guard::Well {
            return;
        }
        if self.witness.runs[run].stop_by_guard(self.now, &mut self.dice) {
            self.tally.count("guard killed at the deadline");
            self.note(|| format!("guard of run {run} kills at the deadline"));
            self.expect_end(run);
        }
    }

    /// Ends a run of which nothing is left, unless its end has moved meanwhile.
    pub(crate) fn over(&mut self, run: usize) -> Result<(), Violation> {
        let process = &mut self.witness.runs[run];
        if process.is_over || process.ends > self.now {
            return Ok(());
        }
        process.is_over = true;
        let (seat, own_life, verdict, id) = (process.seat, process.life, process.verdict, process.lease.run);
        let seen = if process.guard == Guard::Dead { Seen::Unseen } else { Seen::Dead };
        self.note_end(run);
        self.note(|| format!("run {id} is over: {verdict}"));
        self.ends_in_time(run)?;
        let life = self.seats[seat].life;
        if life == own_life {
            return self.happen_to(seat, life, Happening::Ended(id, verdict));
        }
        // The replica's next process handles it.
        self.end_look_for_orphan(seat, life, id, seen)
    }
}
