//! The connection between the rest of the process and the holder of a lock, in both directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::run::StopOrder;
use crate::time::BootInstant;

/// The shortest time between two proofs of life. A tick that still waits right after one waits for something else;
/// the next tick of the job comes a second later at the earliest.
const BETWEEN_PROOFS: Duration = Duration::from_millis(500);

/// The connection to one holder.
#[derive(Debug, Clone)]
pub(crate) struct LockHandle {
    /// Orders to stop the run.
    pub(crate) stops: watch::Sender<Option<StopOrder>>,
    /// Makes the holder renew at once, which proves that it is alive.
    pub(crate) renew: Arc<Notify>,
    /// Counts good renewals.
    pub(crate) renewed: watch::Sender<u64>,
    /// When the run last proved that it is alive, in milliseconds of the boot clock; 0 before the first time.
    proven_ms: Arc<AtomicU64>,
    /// Cancelled when no further attempt may follow the current one.
    pub(crate) no_more_attempts: CancellationToken,
    /// Cancelled when nothing of the run is left. Its end may not be recorded yet.
    pub(crate) run_ended: CancellationToken,
    /// The time between SIGTERM and SIGKILL, by the definition that the run started with.
    pub(crate) kill_grace: Duration,
    /// Cancelled when the holder shall try once more to record the end, and then leave it unrecorded.
    pub(crate) give_up: CancellationToken,
}

impl LockHandle {
    /// Creates the connection to a holder that is about to start.
    pub(crate) fn new(kill_grace: Duration) -> Self {
        Self {
            kill_grace,
            stops: watch::Sender::new(None),
            renew: Arc::new(Notify::new()),
            renewed: watch::Sender::new(0),
            proven_ms: Arc::default(),
            no_more_attempts: CancellationToken::new(),
            run_ended: CancellationToken::new(),
            give_up: CancellationToken::new(),
        }
    }

    /// Whether the run may prove that it is alive by renewing its lock now. If so, records that it does; it may not
    /// again right after that.
    pub(crate) fn may_prove(&self, now: BootInstant) -> bool {
        let now_ms = u64::try_from(now.0.as_millis()).unwrap_or(u64::MAX);
        let before_ms = self.proven_ms.load(Ordering::Relaxed);
        let may = before_ms == 0 || Duration::from_millis(now_ms.saturating_sub(before_ms)) >= BETWEEN_PROOFS;
        if may {
            self.proven_ms.store(now_ms, Ordering::Relaxed);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_still_waits_after_a_proof_of_life_is_not_proven_to_again_and_again() {
        let handle = LockHandle::new(Duration::ZERO);
        let may = [0, 10, 499, 500, 501, 1_000]
            .map(|ms| handle.may_prove(BootInstant(Duration::from_secs(9) + Duration::from_millis(ms))));
        assert_eq!(may, [true, false, false, true, false, true]);
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
