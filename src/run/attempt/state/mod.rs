//! The course of one attempt, as a pure state machine. Equal events at equal times lead to equal verdicts, and a stop
//! ends only with the proof that no process of the run is left.

use std::time::Duration;

use crate::job::{Outcome, Verdict};

use super::stop::{StopOrder, StopReason, StopSignals};

/// SIGKILL needs no cooperation and works within milliseconds. A process that still exists after this long hangs in
/// the kernel, or belongs to a user whose processes the replica may not signal.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// How the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChildExit {
    /// Its exit code, if it exited.
    pub(super) code: Option<i32>,
    /// The signal that it died of, if it did.
    pub(super) signal: Option<i32>,
}

/// The job's settings for the end of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) kill_grace: Duration,
    pub(super) loss_grace: Duration,
    pub(super) success_codes: Vec<u8>,
}

/// What is left of the run's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tree {
    Alive,
    Empty,
}

/// An event of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptEvent {
    /// The main process ended by itself: its guard had not begun to stop it.
    Exited(ChildExit),
    /// The main process ended after its guard had begun to stop it: on an order, or at its deadline.
    Stopped(ChildExit),
    /// The guard is gone: how the main process ends cannot be known.
    GuardLost,
    /// A stop was ordered.
    Stop(StopOrder),
    /// The instant of `wake_at` has come.
    Clock,
    /// What is left, as the guard reported or a search has shown.
    Tree(Tree),
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptAction {
    Wait,
    /// Order the guard to stop the tree: SIGTERM, then SIGKILL after this grace.
    Stop(Duration),
    /// Log that the tree outlives SIGKILL; it is killed for this reason.
    Complain(StopReason),
}

/// The state of an attempt. Times are counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptState {
    /// No stop was ordered.
    Running,
    /// Being stopped (SIGTERM); `exit` is set once the main process has ended.
    Stopping { reason: StopReason, kill_at: Duration, exit: Option<ChildExit> },
    /// Being killed (SIGKILL); `exit` is set once the main process was reaped, or its guard is gone.
    Killing { reason: StopReason, since: Duration, complained: bool, exit: Option<ChildExit> },
}

/// What an event leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    On(AttemptState, AttemptAction),
    Over(Verdict, ChildExit),
}

impl Limits {
    /// Returns the verdict for a process that ended by itself.
    fn verdict(&self, exit: ChildExit) -> Verdict {
        let success =
            exit.code.is_some_and(|code| self.success_codes.iter().any(|&good| code == i32::from(good)));
        Verdict::plain(if success { Outcome::Succeeded } else { Outcome::Failed })
    }
}

impl AttemptState {
    /// Returns what `event` leads to, `at` this long after the start.
    pub(super) fn step(self, event: AttemptEvent, at: Duration, limits: &Limits) -> Step {
        match self {
            Self::Running => Self::step_running(event, at, limits),
            Self::Stopping { .. } => self.step_stopping(event, at, limits),
            Self::Killing { .. } => self.step_killing(event, at, limits),
        }
    }

    /// Returns when a `Clock` event is due, counted from the start.
    pub(super) fn wake_at(&self, limits: &Limits) -> Option<Duration> {
        match self {
            Self::Running => limits.timeout,
            Self::Stopping { kill_at, .. } => Some(*kill_at),
            Self::Killing { .. } => None,
        }
    }

    /// Returns since when the tree should have been dead, counted from the start.
    pub(super) fn killing_since(&self) -> Option<Duration> {
        match self {
            Self::Running | Self::Stopping { .. } => None,
            Self::Killing { since, .. } => Some(*since),
        }
    }

    /// Adds the signal that the run's processes are sent in this state.
    pub(super) fn note_signal(&self, signals: &mut StopSignals) {
        let (sent, why) = match self {
            Self::Running => return,
            Self::Stopping { reason, .. } => (&mut signals.term, reason),
            Self::Killing { reason, .. } => (&mut signals.kill, reason),
        };
        sent.get_or_insert(*why);
    }

    /// Whether the tree was found to outlive SIGKILL.
    pub(super) fn is_stuck(&self) -> bool {
        matches!(self, Self::Killing { complained: true, .. })
    }

    fn step_running(event: AttemptEvent, at: Duration, limits: &Limits) -> Step {
        match event {
            AttemptEvent::Exited(exit) => Step::Over(limits.verdict(exit), exit),
            AttemptEvent::Stop(order) => Self::ask(order, at),
            AttemptEvent::Clock if limits.timeout.is_some_and(|timeout| at >= timeout) => {
                Self::ask(StopOrder { reason: StopReason::Timeout, grace: limits.kill_grace }, at)
            }
            // The guard found that the deadline has passed: its clock continues while the replica is frozen.
            AttemptEvent::Stopped(exit) => Step::On(
                Self::Stopping {
                    reason: StopReason::LockLost,
                    kill_at: at.saturating_add(limits.loss_grace),
                    exit: Some(exit),
                },
                AttemptAction::Wait,
            ),
            AttemptEvent::GuardLost => Self::kill(StopReason::GuardLost, Some(ChildExit::default()), at),
            AttemptEvent::Clock | AttemptEvent::Tree(_) => Step::On(Self::Running, AttemptAction::Wait),
        }
    }

    /// Handles the first order: SIGTERM, or SIGKILL when there is no grace.
    fn ask(order: StopOrder, at: Duration) -> Step {
        if order.grace.is_zero() {
            return Self::kill(order.reason, None, at);
        }
        let kill_at = at.saturating_add(order.grace);
        Step::On(
            Self::Stopping { reason: order.reason, kill_at, exit: None },
            AttemptAction::Stop(order.grace),
        )
    }

    fn kill(reason: StopReason, exit: Option<ChildExit>, at: Duration) -> Step {
        let killing = Self::Killing { reason, since: at, complained: false, exit };
        Step::On(killing, AttemptAction::Stop(Duration::ZERO))
    }

    fn step_stopping(self, event: AttemptEvent, at: Duration, limits: &Limits) -> Step {
        let Self::Stopping { mut reason, mut kill_at, mut exit } = self else {
            return Step::On(self, AttemptAction::Wait);
        };
        let mut action = AttemptAction::Wait;
        match event {
            // The main process ended before the order could stop it.
            AttemptEvent::Exited(exit) => return Step::Over(limits.verdict(exit), exit),
            AttemptEvent::Tree(Tree::Empty) => return Step::Over(reason.verdict(), exit.unwrap_or_default()),
            AttemptEvent::GuardLost => return Self::kill(reason, exit.or(Some(ChildExit::default())), at),
            AttemptEvent::Stopped(how) => exit = Some(how),
            AttemptEvent::Stop(order) => {
                reason = reason.join(order.reason);
                if at.saturating_add(order.grace) < kill_at {
                    kill_at = at.saturating_add(order.grace);
                    action = AttemptAction::Stop(order.grace);
                }
            }
            AttemptEvent::Clock | AttemptEvent::Tree(Tree::Alive) => {}
        }
        // After `Stopped`, the tree may have ended with its main process: the guard reports that before it kills.
        if kill_at <= at && !matches!(event, AttemptEvent::Stopped(_)) {
            return Self::kill(reason, exit, at);
        }
        Step::On(Self::Stopping { reason, kill_at, exit }, action)
    }

    fn step_killing(self, event: AttemptEvent, at: Duration, limits: &Limits) -> Step {
        let Self::Killing { mut reason, since, mut complained, mut exit } = self else {
            return Step::On(self, AttemptAction::Wait);
        };
        let mut action = AttemptAction::Wait;
        match event {
            AttemptEvent::Exited(exit) => return Step::Over(limits.verdict(exit), exit),
            AttemptEvent::Tree(Tree::Empty) => return Step::Over(reason.verdict(), exit.unwrap_or_default()),
            AttemptEvent::Stopped(how) => exit = Some(how),
            AttemptEvent::Stop(order) => reason = reason.join(order.reason),
            AttemptEvent::Tree(Tree::Alive) if !complained && at >= since.saturating_add(STUCK_AFTER) => {
                complained = true;
                action = AttemptAction::Complain(reason);
            }
            AttemptEvent::Clock | AttemptEvent::GuardLost | AttemptEvent::Tree(Tree::Alive) => {}
        }
        Step::On(Self::Killing { reason, since, complained, exit }, action)
    }
}

#[cfg(test)]
mod tests;
