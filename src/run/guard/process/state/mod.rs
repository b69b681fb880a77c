//! What a guard does about its run, as a pure state machine: whatever happens to the replica, the run does not outlive
//! its deadline, and a stop is over only when nothing of the run is left.

use std::time::Duration;

use crate::lease::Protection;
use crate::time::BootInstant;

/// Between two blows at a tree that is being killed: most end with the first.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two blows.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What can happen to a guarded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardEvent {
    /// The replica said: it may go on until then.
    Deadline(BootInstant),
    /// The replica said: stop it, with this grace.
    Stop(Duration),
    /// The replica is gone.
    Hangup,
    /// The main process ended.
    MainEnded,
    /// Nothing that descends from the guard is left.
    Childless,
    /// A blow is done. It took this long; the next one is to follow at once if it has to `press`.
    Struck { took: Duration, press: bool },
    /// Time has passed.
    Clock,
}

/// What the guard has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardAction {
    /// Nothing.
    Wait,
    /// Ask the whole tree to end.
    Terminate,
    /// Kill the whole tree.
    Kill,
    /// Report that the main process ended by itself.
    TellExited,
    /// Report that the main process ended, while the run was being stopped.
    TellStopped,
    /// Report that nothing is left, and end.
    TellEmpty,
    /// End: the run was over before, and now even what it left behind is gone.
    Leave,
}

/// Where a guarded run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It may go on until its deadline.
    Watching,
    /// It was asked to end, and is killed at this instant.
    Stopping { kill_at: BootInstant },
    /// It is being killed, again and again until nothing is left; after the blow that is struck now comes this pause.
    Killing { again_at: BootInstant, pause: Duration },
    /// Its main process ended by itself: the run is over. What it left in the background is left alone.
    Released,
}

/// A guard's watch over one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardState {
    stage: Stage,
    deadline: BootInstant,
    /// Between SIGTERM and SIGKILL when the deadline has passed, or the replica is gone.
    loss_grace: Duration,
}

impl GuardState {
    /// The watch over a run that was just started.
    pub(super) fn new(deadline: BootInstant, loss_grace: Duration) -> Self {
        Self { stage: Stage::Watching, deadline, loss_grace }
    }

    /// When a `Clock` is due.
    pub(super) fn wake_at(&self) -> Option<BootInstant> {
        let deadline = Some(self.deadline).filter(|_| Protection::Guard.is_on());
        match self.stage {
            Stage::Watching => deadline,
            Stage::Stopping { kill_at } => Some(deadline.map_or(kill_at, |deadline| kill_at.min(deadline))),
            Stage::Killing { again_at, .. } => Some(again_at),
            Stage::Released => None,
        }
    }

    /// Takes in what happened at `now`, and says what to do about it.
    pub(super) fn step(&mut self, event: GuardEvent, now: BootInstant) -> GuardAction {
        if let GuardEvent::Deadline(at) = event {
            self.deadline = self.deadline.max(at);
            return GuardAction::Wait;
        }
        match self.stage {
            Stage::Watching => self.step_watching(event, now),
            Stage::Stopping { kill_at } => self.step_stopping(event, now, kill_at),
            Stage::Killing { again_at, pause } => self.step_killing(event, now, (again_at, pause)),
            Stage::Released if event == GuardEvent::Childless => GuardAction::Leave,
            Stage::Released => GuardAction::Wait,
        }
    }

    /// Whether nobody proves any more that the run may go on.
    fn is_lost(&self, event: GuardEvent, now: BootInstant) -> bool {
        let lost = event == GuardEvent::Hangup || now >= self.deadline;
        lost && Protection::Guard.is_on()
    }

    /// When a run that is found lost at `now` is killed: the grace of a loss counts from the deadline, however late this
    /// is. A machine that slept, or is busy, has used it up.
    fn loss_at(&self, now: BootInstant) -> BootInstant {
        now.min(self.deadline).plus(self.loss_grace)
    }

    fn step_watching(&mut self, event: GuardEvent, now: BootInstant) -> GuardAction {
        match event {
            // First, and whatever the clock says: who ends by itself was not stopped.
            GuardEvent::MainEnded => {
                self.stage = Stage::Released;
                GuardAction::TellExited
            }
            GuardEvent::Stop(grace) => self.stop(grace, now),
            _ if self.is_lost(event, now) => self.stop(self.loss_at(now).since(now), now),
            _ => GuardAction::Wait,
        }
    }

    fn stop(&mut self, grace: Duration, now: BootInstant) -> GuardAction {
        if grace.is_zero() {
            return self.kill(now, FIRST_PAUSE);
        }
        self.stage = Stage::Stopping { kill_at: now.plus(grace) };
        GuardAction::Terminate
    }

    fn kill(&mut self, now: BootInstant, pause: Duration) -> GuardAction {
        self.stage = Stage::Killing { again_at: now.plus(pause), pause };
        GuardAction::Kill
    }

    fn step_stopping(
        &mut self,
        event: GuardEvent,
        now: BootInstant,
        mut kill_at: BootInstant,
    ) -> GuardAction {
        match event {
            GuardEvent::Childless => return GuardAction::TellEmpty,
            GuardEvent::Stop(grace) => kill_at = kill_at.min(now.plus(grace)),
            _ if self.is_lost(event, now) => {
                kill_at = kill_at.min(self.loss_at(now));
                // Said once: from now on there is nothing to wait for but the end.
                self.deadline = BootInstant(Duration::MAX);
            }
            _ => {}
        }
        self.stage = Stage::Stopping { kill_at };
        match event {
            GuardEvent::MainEnded => GuardAction::TellStopped,
            _ if now >= kill_at => self.kill(now, FIRST_PAUSE),
            _ => GuardAction::Wait,
        }
    }

    fn step_killing(
        &mut self,
        event: GuardEvent,
        now: BootInstant,
        (again_at, pause): (BootInstant, Duration),
    ) -> GuardAction {
        match event {
            GuardEvent::Childless => GuardAction::TellEmpty,
            GuardEvent::MainEnded => GuardAction::TellStopped,
            GuardEvent::Struck { took, press } => {
                // Nobody is to be born in a pause. Where thousands of dead are looked through, they have to be reaped, too.
                self.stage = match press {
                    true => Stage::Killing { again_at: now, pause: FIRST_PAUSE },
                    false => Stage::Killing {
                        again_at: now.plus(pause.max(took)),
                        pause: (pause * 2).min(LONGEST_PAUSE),
                    },
                };
                GuardAction::Wait
            }
            // Again: somebody may have been born meanwhile.
            _ if now >= again_at => self.kill(now, pause),
            _ => GuardAction::Wait,
        }
    }
}

#[cfg(test)]
mod tests;
