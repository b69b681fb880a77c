//! How long a draining replica waits: first for its runs to finish, then for the ends of stopped runs to be recorded,
//! then for processes that cannot be killed. An order to stop at once shortens the waits.

use std::time::Duration;

use crate::time::BootInstant;

/// After stopped runs have used up their grace, recording their ends may take this long.
const RECORD_LIMIT: Duration = Duration::from_secs(5);

/// After that, the replica waits this long for processes that SIGKILL does not end, and renews their locks; or for
/// another `RECORD_LIMIT` if it has to stop at once. Then it leaves the locks to expire.
const LEAVE_LIMIT: Duration = Duration::from_secs(60);

/// What to do when a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrainStage {
    /// Order the runs to stop.
    StopRuns,
    /// Leave ends unrecorded that the store does not accept.
    GiveUp,
    /// End the replica although processes of runs may be alive.
    Leave,
}

/// The current wait of a draining replica; it has no end until the replica drains.
#[derive(Debug)]
pub(crate) struct DrainDeadline {
    until: Option<BootInstant>,
    next: DrainStage,
    leave_after: Duration,
}

impl DrainDeadline {
    /// Not draining yet.
    pub(crate) const fn new() -> Self {
        Self { until: None, next: DrainStage::StopRuns, leave_after: LEAVE_LIMIT }
    }

    /// Runs may finish within this time.
    pub(crate) fn drain(&mut self, now: BootInstant, limit: Duration) {
        self.until = Some(now.plus(limit));
    }

    /// Runs have been ordered to stop, with this grace at most.
    pub(crate) fn stop(&mut self, now: BootInstant, grace: Duration) {
        self.until = Some(now.plus(grace + RECORD_LIMIT));
        self.next = DrainStage::GiveUp;
    }

    /// Runs have been ordered to stop at once; nothing is waited for longer than necessary.
    pub(crate) fn stop_at_once(&mut self, now: BootInstant) {
        self.stop(now, Duration::ZERO);
        self.leave_after = RECORD_LIMIT;
    }

    /// Ends are left unrecorded: only processes that cannot be killed are waited for, for a limited time.
    pub(crate) fn rest(&mut self, now: BootInstant) {
        self.until = Some(now.plus(self.leave_after));
        self.next = DrainStage::Leave;
    }

    /// Nothing is waited for any more.
    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    /// Returns when the current wait is over; `None` if nothing is waited for.
    pub(crate) fn until(&self) -> Option<BootInstant> {
        self.until
    }

    /// Returns what to do if the current wait is over by `now`.
    pub(crate) fn over(&self, now: BootInstant) -> Option<DrainStage> {
        self.until.filter(|until| *until <= now).map(|_| self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows the start of a drain, and after how many seconds.
    fn course(is_hurried: bool) -> Vec<(DrainStage, u64)> {
        let mut drain_deadline = DrainDeadline::new();
        drain_deadline.drain(BootInstant(Duration::ZERO), Duration::from_secs(30));
        let mut course = Vec::new();
        while let Some(until) = drain_deadline.until() {
            assert_eq!(drain_deadline.over(BootInstant(until.0 - Duration::from_millis(1))), None);
            let next = drain_deadline.over(until).expect("the wait is over");
            course.push((next, until.0.as_secs()));
            match next {
                DrainStage::StopRuns if is_hurried => drain_deadline.stop_at_once(until),
                DrainStage::StopRuns => drain_deadline.stop(until, Duration::from_secs(10)),
                DrainStage::GiveUp => drain_deadline.rest(until),
                DrainStage::Leave => drain_deadline.end(),
            }
        }
        course
    }

    #[test]
    fn every_wait_of_a_replica_that_leaves_has_an_end() {
        use DrainStage::{GiveUp, Leave, StopRuns};
        assert_eq!(course(false), [(StopRuns, 30), (GiveUp, 45), (Leave, 105)]);
        assert_eq!(course(true), [(StopRuns, 30), (GiveUp, 35), (Leave, 40)]);
    }
}
