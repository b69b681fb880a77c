//! The course of one attempt as a pure state machine. Equal events at equal times lead to equal verdicts, and nothing
//! ends a stop but an empty process group.

use std::time::Duration;

use super::stop::{StopOrder, StopReason};
use crate::job::{Outcome, Verdict};

/// SIGKILL needs no cooperation and works within milliseconds; who is still there after this long hangs in the kernel,
/// or belongs to somebody the replica may not signal.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// How the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exit {
    /// Its exit code, if it exited.
    pub(super) code: Option<i32>,
    /// The signal that it died of, if it did.
    pub(super) signal: Option<i32>,
}

/// What the job says about its end.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) kill_grace: Duration,
    pub(super) success_codes: Vec<u8>,
}

/// What is left of the process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Alive,
    Empty,
}

/// What can happen to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The main process ended and was reaped.
    Exited(Exit),
    /// Somebody wants it to end.
    Stop(StopOrder),
    /// The instant of `wake_at` has come.
    Clock,
    /// The group was looked at.
    Group(Group),
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Wait,
    /// Ask the group to end.
    Terminate,
    /// End the group.
    Kill,
    /// Say that the group outlives SIGKILL.
    Complain,
}

/// Where an attempt stands. Times are counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// Nobody wants it to end.
    Running,
    /// Asked to end; `exit` once the main process did.
    Stopping { reason: StopReason, kill_at: Duration, exit: Option<Exit> },
    /// Killed; `exit` once the main process was reaped.
    Killing { reason: StopReason, since: Duration, complained: bool, exit: Option<Exit> },
}

/// What an event leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    On(Course, Action),
    Over(Verdict, Exit),
}

impl Limits {
    /// The verdict of a process that ended by itself.
    fn verdict(&self, exit: Exit) -> Verdict {
        let success =
            exit.code.is_some_and(|code| self.success_codes.iter().any(|&good| code == i32::from(good)));
        Verdict::plain(if success { Outcome::Succeeded } else { Outcome::Failed })
    }
}

impl Course {
    /// What `event` leads to, `at` this long after the start.
    pub(super) fn step(self, event: Event, at: Duration, limits: &Limits) -> Step {
        match self {
            Self::Running => Self::step_running(event, at, limits),
            Self::Stopping { .. } => self.step_stopping(event, at),
            Self::Killing { .. } => self.step_killing(event, at),
        }
    }

    /// When a `Clock` event is due, counted from the start.
    pub(super) fn wake_at(&self, limits: &Limits) -> Option<Duration> {
        match self {
            Self::Running => limits.timeout,
            Self::Stopping { kill_at, .. } => Some(*kill_at),
            Self::Killing { .. } => None,
        }
    }

    /// Whether the end of the group, which nobody announces, has to be looked for.
    pub(super) fn looks(&self) -> bool {
        match self {
            Self::Running => false,
            Self::Stopping { exit, .. } => exit.is_some(),
            Self::Killing { .. } => true,
        }
    }

    fn step_running(event: Event, at: Duration, limits: &Limits) -> Step {
        match event {
            Event::Exited(exit) => Step::Over(limits.verdict(exit), exit),
            Event::Stop(order) => Self::ask(order.reason, at.saturating_add(order.grace), None, at),
            Event::Clock if limits.timeout.is_some_and(|timeout| at >= timeout) => {
                Self::ask(StopReason::Timeout, at.saturating_add(limits.kill_grace), None, at)
            }
            Event::Clock | Event::Group(_) => Step::On(Self::Running, Action::Wait),
        }
    }

    /// The first order: SIGTERM, or SIGKILL when there is no grace.
    fn ask(reason: StopReason, kill_at: Duration, exit: Option<Exit>, at: Duration) -> Step {
        if kill_at <= at {
            return Self::kill(reason, exit, at);
        }
        Step::On(Self::Stopping { reason, kill_at, exit }, Action::Terminate)
    }

    fn kill(reason: StopReason, exit: Option<Exit>, at: Duration) -> Step {
        Step::On(Self::Killing { reason, since: at, complained: false, exit }, Action::Kill)
    }

    fn step_stopping(self, event: Event, at: Duration) -> Step {
        let Self::Stopping { mut reason, mut kill_at, mut exit } = self else {
            return Step::On(self, Action::Wait);
        };
        match (event, exit) {
            (Event::Group(Group::Empty), Some(exit)) => return Step::Over(reason.verdict(), exit),
            (Event::Exited(how), _) => exit = Some(how),
            (Event::Stop(order), _) => {
                reason = reason.max(order.reason);
                kill_at = kill_at.min(at.saturating_add(order.grace));
            }
            (Event::Clock | Event::Group(_), _) => {}
        }
        let exited_now = matches!(event, Event::Exited(_));
        // The group may have ended with its main process: look before the next signal.
        if kill_at <= at && !exited_now {
            return Self::kill(reason, exit, at);
        }
        Step::On(Self::Stopping { reason, kill_at, exit }, Action::Wait)
    }

    fn step_killing(self, event: Event, at: Duration) -> Step {
        let Self::Killing { mut reason, since, mut complained, mut exit } = self else {
            return Step::On(self, Action::Wait);
        };
        let mut action = Action::Wait;
        match (event, exit) {
            (Event::Group(Group::Empty), Some(exit)) => return Step::Over(reason.verdict(), exit),
            (Event::Exited(how), _) => exit = Some(how),
            (Event::Stop(order), _) => reason = reason.max(order.reason),
            (Event::Group(Group::Alive), _) if !complained && at >= since.saturating_add(STUCK_AFTER) => {
                complained = true;
                action = Action::Complain;
            }
            // Again each time: a process may have joined the group since.
            (Event::Group(Group::Alive), _) => action = Action::Kill,
            (Event::Clock | Event::Group(Group::Empty), _) => {}
        }
        Step::On(Self::Killing { reason, since, complained, exit }, action)
    }
}

#[cfg(test)]
mod tests;
