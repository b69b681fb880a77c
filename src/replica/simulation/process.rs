//! The process of a run, and its guard: kills at the deadline that was last sent, at the end of its replica, and on order.

use std::time::Duration;

use crate::job::{Outcome, Reason, Verdict};
use crate::lease::{BootInstant, Holding, Protection};
use crate::run::StopReason;

use super::clock::Moment;
use super::dice::Dice;

/// What SIGKILL may take, and timers may be late, at the most; the holder's margin has a second for it.
const SLOWEST_DEATH: u64 = 1_000;

/// How a guard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    Well,
    /// Until this moment.
    Frozen(Moment),
    /// Killed: the nursery has killed its job.
    Dead,
}

/// A run as the machine has it.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) job: usize,
    pub(super) seat: usize,
    /// The life of the replica that started it.
    pub(super) life: u32,
    pub(super) holding: Holding,
    pub(super) started: Moment,
    /// When nothing of it is left, as things stand.
    pub(super) ends: Moment,
    /// How it ends, as things stand.
    pub(super) verdict: Verdict,
    pub(super) is_over: bool,
    /// When its replica learned that it is over.
    pub(super) learned: Moment,
    pub(super) guard: Guard,
    /// What the guard was told last, when, and how long that was before it.
    pub(super) deadline: BootInstant,
    pub(super) told: (Moment, Duration),
    /// When the last good claim or renewal was sent.
    pub(super) last_good: Moment,
    /// Whether the end is recorded, and not as interrupted.
    pub(super) is_recorded: bool,
    loss_grace: Duration,
    /// How long it takes to obey SIGTERM.
    obeys: Duration,
}

impl Process {
    /// A command that was just started, and would go on for so long.
    pub(super) fn start(
        (job, seat, life): (usize, usize, u32),
        holding: Holding,
        (deadline, left, loss_grace): (BootInstant, Duration, Duration),
        (now, length): (Moment, Duration),
        dice: &mut Dice,
    ) -> Self {
        let obeys = if dice.percent(50) { dice.ms(0, 50) } else { Duration::MAX };
        Self {
            job,
            seat,
            life,
            holding,
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
            loss_grace,
            obeys,
        }
    }

    /// The guard receives a deadline. At `now` the boot clock shows that `left` remains.
    pub(super) fn hear(&mut self, deadline: BootInstant, (now, left): (Moment, Duration)) {
        if deadline > self.deadline {
            (self.deadline, self.told) = (deadline, (now, left));
        }
    }

    /// SIGTERM, then SIGKILL after the grace. True when it now ends sooner.
    pub(super) fn stop(&mut self, now: Moment, grace: Duration, verdict: Verdict, dice: &mut Dice) -> bool {
        let death = Duration::from_millis(SLOWEST_DEATH).min(dice.ms_of_any_order(SLOWEST_DEATH));
        let ends = now.plus(grace.min(self.obeys)).plus(death);
        let is_sooner = !self.is_over && ends < self.ends;
        if is_sooner {
            self.ends = ends;
            self.verdict = verdict;
        }
        is_sooner
    }

    /// Its time is over, or its replica is gone.
    pub(super) fn stop_by_guard(&mut self, now: Moment, dice: &mut Dice) -> bool {
        if !Protection::Guard.is_on() || self.guard != Guard::Well {
            return false;
        }
        let lost = StopReason::LockLost.verdict();
        self.stop(now, self.loss_grace, lost, dice)
    }

    /// The guard was killed: whoever forked it kills the job at once.
    pub(super) fn lose_guard(&mut self, now: Moment, dice: &mut Dice) -> bool {
        self.guard = Guard::Dead;
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        self.stop(now, Duration::ZERO, lost, dice)
    }

    /// Whether its replica cut it short, as far as anybody recorded.
    pub(super) fn was_cut_short(&self) -> bool {
        self.is_over && !self.is_recorded
    }
}
