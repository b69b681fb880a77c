//! What reaches an attempt from outside: deadlines, and orders to stop. However many orders come, the strongest
//! reason and the shortest grace remain.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::job::{Outcome, Reason, Verdict};
use crate::time::{BootInstant, Clock};

/// How an attempt is controlled while it is running.
#[derive(Debug, Clone)]
pub struct RunControl {
    /// The strongest stop order so far.
    pub stops: watch::Receiver<Option<StopOrder>>,
    /// Until when it may continue, by the boot clock of `clock`; it only moves forward.
    pub deadlines: watch::Receiver<BootInstant>,
    /// Cancelled by the attempt once its main process exists, if it ever does.
    pub born: CancellationToken,
    /// The clocks of its caller.
    pub clock: Arc<dyn Clock>,
}

impl RunControl {
    /// Returns the deadline as the guard measures it.
    pub(super) fn machine_deadline(&self) -> BootInstant {
        self.clock.to_machine(*self.deadlines.borrow())
    }
}

/// Why an attempt is stopped, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// Its guard was killed: no run continues without one.
    GuardLost,
    /// It ran longer than the job's `timeout`.
    Timeout,
    /// An operator ordered it.
    Operator,
    /// A newer tick takes its place.
    Replaced,
    /// The replica shuts down.
    Shutdown,
    /// The replica cannot prove any more that it holds the lock.
    LockLost,
}

impl StopReason {
    /// Returns the reason for a stop that the job's record requests.
    pub const fn asked_for(why: Reason) -> Self {
        match why {
            Reason::Operator => Self::Operator,
            _ => Self::Replaced,
        }
    }

    /// Combines two reasons, this one first. A run that was to end for good must not become an interrupted one, and
    /// so perhaps be run again, because its lock is lost or its replica shuts down during the stop.
    #[must_use]
    pub fn join(self, later: Self) -> Self {
        let is_cut_short = matches!(later, Self::Shutdown | Self::LockLost);
        match self {
            Self::Timeout | Self::Operator | Self::Replaced if is_cut_short => self,
            _ => self.max(later),
        }
    }

    /// Returns the verdict of a run that was stopped for this reason.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::GuardLost => Verdict::because(Outcome::Interrupted, Reason::NodeLost),
            Self::Timeout => Verdict::plain(Outcome::TimedOut),
            Self::Operator => Verdict::because(Outcome::Killed, Reason::Operator),
            Self::Replaced => Verdict::because(Outcome::Killed, Reason::Replaced),
            Self::Shutdown => Verdict::because(Outcome::Interrupted, Reason::Shutdown),
            Self::LockLost => Verdict::because(Outcome::Interrupted, Reason::LockLost),
        }
    }
}

/// An order to stop an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopOrder {
    /// Why it is stopped.
    pub reason: StopReason,
    /// Between SIGTERM and SIGKILL; zero means SIGKILL at once. An order given before the command runs gets no grace.
    pub grace: Duration,
}

/// The signals that an attempt's processes were sent to stop them, each with the reason for which it was sent first. `None`
/// if it was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StopSignals {
    /// SIGTERM.
    pub term: Option<StopReason>,
    /// SIGKILL.
    pub kill: Option<StopReason>,
}

impl StopOrder {
    /// Combines two orders, this one first: the stronger reason and the shorter grace.
    #[must_use]
    pub fn join(self, later: Self) -> Self {
        Self { reason: self.reason.join(later.reason), grace: self.grace.min(later.grace) }
    }

    /// Gives the order to an attempt. Unlike a plain `send`, it never replaces a stronger order that was not read
    /// yet.
    pub fn give(self, to: &watch::Sender<Option<Self>>) {
        to.send_modify(|order| *order = Some(order.map_or(self, |earlier| earlier.join(self))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(reason: StopReason, seconds: u64) -> StopOrder {
        StopOrder { reason, grace: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_weaker_reason_never_replaces_a_stronger_but_a_shorter_grace_replaces_a_longer() {
        let (to, seen) = watch::channel(None);
        order(StopReason::Shutdown, 10).give(&to);
        order(StopReason::Operator, 2).give(&to);
        assert_eq!(*seen.borrow(), Some(order(StopReason::Shutdown, 2)));
        order(StopReason::LockLost, 5).give(&to);
        assert_eq!(*seen.borrow(), Some(order(StopReason::LockLost, 2)));
    }

    #[test]
    fn what_was_to_end_for_good_is_not_cut_short_as_well() {
        for first in [StopReason::Timeout, StopReason::Operator, StopReason::Replaced] {
            for later in [StopReason::Shutdown, StopReason::LockLost] {
                assert_eq!(order(first, 9).join(order(later, 1)), order(first, 1));
                assert_eq!(later.join(first), later);
            }
        }
    }

    #[test]
    fn every_reason_has_the_contracts_verdict() {
        let cases = [
            (StopReason::GuardLost, "interrupted (node_lost)"),
            (StopReason::Timeout, "timed_out"),
            (StopReason::Operator, "killed (operator)"),
            (StopReason::Replaced, "killed (replaced)"),
            (StopReason::Shutdown, "interrupted (shutdown)"),
            (StopReason::LockLost, "interrupted (lock_lost)"),
        ];
        for (reason, words) in cases {
            assert_eq!(reason.verdict().to_string(), words);
        }
        assert!(cases.is_sorted_by_key(|(reason, _)| *reason));
    }
}
