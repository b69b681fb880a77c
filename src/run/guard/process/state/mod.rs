//! What a guard does about its run, as a pure state machine: whatever happens to the replica, the run does not
//! outlive its deadline, and a stop is over only when no process of the run is left.

use std::time::Duration;

use crate::lease::Protection;
use crate::time::BootInstant;

/// First pause between two kill rounds: most trees end with the first round.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two kill rounds, unless a round itself takes longer.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// An event of a guarded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardEvent {
    /// The replica ordered: the run may continue until this instant.
    Deadline(BootInstant),
    /// The replica ordered a stop with this grace.
    Stop(Duration),
    /// The replica is gone.
    Hangup,
    /// The main process ended.
    MainEnded,
    /// No process that descends from the guard is left.
    Childless,
    /// A kill round is done. It took this long; the next one follows at once if it has to `press`.
    Struck { took: Duration, press: bool },
    /// Time has passed.
    Clock,
}

/// What the guard has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardAction {
    /// No action.
    Wait,
    /// Ask the whole tree to end (SIGTERM).
    Terminate,
    /// Kill the whole tree.
    Kill,
    /// Report that the main process ended by itself.
    ReportExited,
    /// Report that the main process ended, while the run was being stopped.
    ReportStopped,
    /// Report that no process is left, and end.
    ReportEmpty,
    /// End: the run was over before, and now the processes that it left behind are gone, too.
    Leave,
}

/// The stage of a guarded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It may continue until its deadline.
    Watching,
    /// It was asked to end, and is killed at this instant.
    Stopping { kill_at: BootInstant },
    /// It is being killed in rounds until no process is left. The next round is due at `again_at`; `pause` follows
    /// the current one.
    Killing { again_at: BootInstant, pause: Duration },
    /// Its main process ended by itself: the run is over. Processes that it left in the background are left alone.
    Released,
}

/// The state of a guard: the stage of its run, and its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GuardState {
    stage: Stage,
    deadline: BootInstant,
    /// Between SIGTERM and SIGKILL when the deadline has passed, or the replica is gone.
    loss_grace: Duration,
}

impl GuardState {
    /// Returns the state for a run that was just started.
    pub(super) fn new(deadline: BootInstant, loss_grace: Duration) -> Self {
        Self { stage: Stage::Watching, deadline, loss_grace }
    }

    /// Returns when a `Clock` event is due.
    pub(super) fn wake_at(&self) -> Option<BootInstant> {
        let deadline = Some(self.deadline).filter(|_| Protection::Guard.is_on());
        match self.stage {
            Stage::Watching => deadline,
            Stage::Stopping { kill_at } => Some(deadline.map_or(kill_at, |deadline| kill_at.min(deadline))),
            Stage::Killing { again_at, .. } => Some(again_at),
            Stage::Released => None,
        }
    }

    /// Handles an event that happened at `now`, and returns what to do about it.
    pub(super) fn step(&mut self, event: GuardEvent, now: BootInstant) -> GuardAction {
        if let GuardEvent::Deadline(at) = event {
            self.deadline = self.deadline.max(at);
            return GuardAction::Wait;
        }
        match self.stage {
            Stage::Watching => self.step_watching(event, now),
            Stage::Stopping { kill_at } => self.step_stopping(event, now, kill_at),
            Stage::Killing { again_at, pause } => self.step_killing(event, now, again_at, pause),
            Stage::Released if event == GuardEvent::Childless => GuardAction::Leave,
            Stage::Released => GuardAction::Wait,
        }
    }

    /// Whether the run may not continue any more: the replica is gone, or the deadline has passed.
    fn is_lost(&self, event: GuardEvent, now: BootInstant) -> bool {
        let lost = event == GuardEvent::Hangup || now >= self.deadline;
        lost && Protection::Guard.is_on()
    }

    /// Returns when a run that is found lost at `now` is killed. If the deadline has passed, the loss grace counts
    /// from it, however late that is noticed: a machine that slept, or is busy, has used the grace up.
    fn loss_at(&self, now: BootInstant) -> BootInstant {
        now.min(self.deadline).plus(self.loss_grace)
    }

    fn step_watching(&mut self, event: GuardEvent, now: BootInstant) -> GuardAction {
        match event {
            // First, whatever the clock shows: a run that ended by itself was not stopped.
            GuardEvent::MainEnded => {
                self.stage = Stage::Released;
                GuardAction::ReportExited
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
            GuardEvent::Childless => return GuardAction::ReportEmpty,
            GuardEvent::Stop(grace) => kill_at = kill_at.min(now.plus(grace)),
            _ if self.is_lost(event, now) => {
                kill_at = kill_at.min(self.loss_at(now));
                // Handled once: from now on the guard only waits for the end.
                self.deadline = BootInstant(Duration::MAX);
            }
            _ => {}
        }
        self.stage = Stage::Stopping { kill_at };
        match event {
            GuardEvent::MainEnded => GuardAction::ReportStopped,
            _ if now >= kill_at => self.kill(now, FIRST_PAUSE),
            _ => GuardAction::Wait,
        }
    }

    fn step_killing(
        &mut self,
        event: GuardEvent,
        now: BootInstant,
        again_at: BootInstant,
        pause: Duration,
    ) -> GuardAction {
        match event {
            GuardEvent::Childless => GuardAction::ReportEmpty,
            GuardEvent::MainEnded => GuardAction::ReportStopped,
            GuardEvent::Struck { took, press } => {
                // With `press` there is no pause, as no process may be forked during it. Otherwise the pause is at
                // least as long as the round took: after a search through thousands of dead processes, these have to
                // be reaped, too.
                self.stage = match press {
                    true => Stage::Killing { again_at: now, pause: FIRST_PAUSE },
                    false => Stage::Killing {
                        again_at: now.plus(pause.max(took)),
                        pause: (pause * 2).min(LONGEST_PAUSE),
                    },
                };
                GuardAction::Wait
            }
            // Another round: processes may have been forked since the last one.
            _ if now >= again_at => self.kill(now, pause),
            _ => GuardAction::Wait,
        }
    }
}

#[cfg(test)]
mod tests;
