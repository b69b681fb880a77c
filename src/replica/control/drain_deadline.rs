//! How long a draining replica waits: first for its runs to finish, then for the stopped ones to be recorded. It only
//! ever gets shorter.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// After runs were ordered to stop and their grace is over, their ends may take this long to be recorded.
const RECORD_LIMIT: Duration = Duration::from_secs(5);

/// What SIGKILL does not end is waited for, with its lock renewed, for this long after that; where it is to go at once,
/// for no longer than `RECORD_LIMIT` once more. Then its lock runs out.
const LEAVE_LIMIT: Duration = Duration::from_secs(60);

/// What there is to do when patience is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrainStage {
    /// Order the runs to stop.
    StopRuns,
    /// Leave ends unrecorded that the store does not take.
    GiveUp,
    /// Leave although processes of runs may be alive.
    Leave,
}

/// The patience of a draining replica; without end until it drains.
#[derive(Debug)]
pub(crate) struct DrainDeadline {
    until: Option<Instant>,
    next: DrainStage,
    leave_after: Duration,
}

impl DrainDeadline {
    /// Not draining yet.
    pub(crate) const fn new() -> Self {
        Self { until: None, next: DrainStage::StopRuns, leave_after: LEAVE_LIMIT }
    }

    /// Runs may finish for this long.
    pub(crate) fn drain(&mut self, limit: Duration) {
        self.until = Some(Instant::now() + limit);
    }

    /// Runs are being stopped, with at most this grace.
    pub(crate) fn stop(&mut self, grace: Duration) {
        self.until = Some(Instant::now() + grace + RECORD_LIMIT);
        self.next = DrainStage::GiveUp;
    }

    /// Runs are being killed, and nothing is waited for any longer than it has to be.
    pub(crate) fn stop_at_once(&mut self) {
        self.stop(Duration::ZERO);
        self.leave_after = RECORD_LIMIT;
    }

    /// Ends are left unrecorded: only what cannot be killed is waited for, and not for ever.
    pub(crate) fn rest(&mut self) {
        self.until = Some(Instant::now() + self.leave_after);
        self.next = DrainStage::Leave;
    }

    /// Waits until it is over. Cancel-safe.
    pub(crate) async fn over(&self) -> DrainStage {
        match self.until {
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows the start of a drain, and when.
    async fn course(is_hurried: bool) -> Vec<(DrainStage, u64)> {
        let (begun, mut drain_deadline) = (Instant::now(), DrainDeadline::new());
        drain_deadline.drain(Duration::from_secs(30));
        let mut course = Vec::new();
        while course.last().is_none_or(|(last, _)| *last != DrainStage::Leave) {
            let next = drain_deadline.over().await;
            course.push((next, begun.elapsed().as_secs()));
            match next {
                DrainStage::StopRuns if is_hurried => drain_deadline.stop_at_once(),
                DrainStage::StopRuns => drain_deadline.stop(Duration::from_secs(10)),
                DrainStage::GiveUp | DrainStage::Leave => drain_deadline.rest(),
            }
        }
        course
    }

    #[tokio::test(start_paused = true)]
    async fn every_wait_of_a_replica_that_leaves_has_an_end() {
        use DrainStage::{GiveUp, Leave, StopRuns};
        assert_eq!(course(false).await, [(StopRuns, 30), (GiveUp, 45), (Leave, 105)]);
        assert_eq!(course(true).await, [(StopRuns, 30), (GiveUp, 35), (Leave, 40)]);
    }
}
