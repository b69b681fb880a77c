//! How long a draining replica waits: first for its runs to finish, then for the stopped ones to be recorded. It only
//! ever gets shorter.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// After runs were ordered to stop and their grace is over, their ends may take this long to be recorded.
const RECORD_LIMIT: Duration = Duration::from_secs(5);

/// What there is to do when patience is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Impatience {
    /// Order the runs to stop.
    StopRuns,
    /// Leave ends unrecorded that the store does not take.
    GiveUp,
}

/// The patience of a draining replica; without end until it drains.
#[derive(Debug)]
pub(super) struct Patience {
    until: Option<Instant>,
    next: Impatience,
}

impl Patience {
    /// Not draining yet.
    pub(super) const fn new() -> Self {
        Self { until: None, next: Impatience::StopRuns }
    }

    /// Runs may finish for this long.
    pub(super) fn drain(&mut self, limit: Duration) {
        self.until = Some(Instant::now() + limit);
    }

    /// Runs are being stopped, with at most this grace.
    pub(super) fn stop(&mut self, grace: Duration) {
        self.until = Some(Instant::now() + grace + RECORD_LIMIT);
        self.next = Impatience::GiveUp;
    }

    /// There is nothing left to be impatient about: only what cannot be killed is waited for.
    pub(super) fn rest(&mut self) {
        self.until = None;
    }

    /// Waits until it is over. Cancel-safe.
    pub(super) async fn over(&self) -> Impatience {
        match self.until {
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
        self.next
    }
}
