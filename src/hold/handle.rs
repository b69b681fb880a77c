//! The connection between the rest of the process and the holder of a lock, in both directions.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::job::RunId;
use crate::run::StopOrder;

/// The connection to one holder.
#[derive(Debug, Clone)]
pub(crate) struct LockHandle {
    /// Orders to stop the run.
    pub(crate) stops: watch::Sender<Option<StopOrder>>,
    /// Makes the holder renew at once, which proves that it is alive.
    pub(crate) renew: Arc<Notify>,
    /// Counts good renewals.
    pub(crate) renewed: watch::Sender<u64>,
    /// Cancelled when no further attempt may follow the current one.
    pub(crate) no_more_attempts: CancellationToken,
    /// Cancelled when nothing of the run is left. Its end may not be recorded yet.
    pub(crate) run_ended: CancellationToken,
    /// Receives the run when nothing of it is left.
    ended: Option<mpsc::UnboundedSender<RunExit>>,
    /// Cancelled when the holder shall try once more to record the end, and then leave it unrecorded.
    pub(crate) give_up: CancellationToken,
}

/// A run of which nothing is left. Its end may not be recorded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunExit {
    pub(crate) run: RunId,
    /// Whether it was interrupted, or it is unknown how it ended, or nothing was started.
    pub(crate) was_cut_short: bool,
}

impl LockHandle {
    /// Creates the connection to a holder that is about to start.
    pub(crate) fn new() -> Self {
        Self {
            stops: watch::Sender::new(None),
            renew: Arc::new(Notify::new()),
            renewed: watch::Sender::new(0),
            no_more_attempts: CancellationToken::new(),
            run_ended: CancellationToken::new(),
            ended: None,
            give_up: CancellationToken::new(),
        }
    }

    /// Creates the connection to a holder that is about to start, which sends its run to `ended` when nothing of the
    /// run is left.
    pub(crate) fn telling(ended: mpsc::UnboundedSender<RunExit>) -> Self {
        Self { ended: Some(ended), ..Self::new() }
    }

    /// Records that nothing of the run is left.
    pub(crate) fn end(&self, run: RunExit) {
        // The replica may have ended without it. It learns of the end before anybody who waits for it.
        let _ = self.ended.as_ref().map(|ended| ended.send(run));
        self.run_ended.cancel();
    }
}

/// How a replica or an `exec` is ordered to stop. `at_once` is the stronger order.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Take no new ticks, let runs finish for the drain time, then stop them.
    pub drain: CancellationToken,
    /// Stop everything at once.
    pub at_once: CancellationToken,
}
