//! How others reach the holder of a lock, and what they hear of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::run::StopOrder;
use crate::time::BootInstant;

/// A tick that still waits right after a proof of life waits for something else. Each job's ticks are a second apart.
const BETWEEN_PROOFS: Duration = Duration::from_millis(500);

/// How others reach a holder.
#[derive(Debug, Clone)]
pub(crate) struct LockHandle {
    /// Orders to the run.
    pub(crate) stops: watch::Sender<Option<StopOrder>>,
    /// Renew now, which proves that the holder lives.
    pub(crate) renew: Arc<Notify>,
    /// Counts good renewals.
    pub(crate) renewed: watch::Sender<u64>,
    /// When the run last proved that it lives, in milliseconds of the boot clock; 0 before the first time.
    proven_ms: Arc<AtomicU64>,
    /// After this attempt there is no other.
    pub(crate) no_more: CancellationToken,
    /// Nothing of the run is left; its end may not be recorded yet.
    pub(crate) over: CancellationToken,
    /// What the run is given between SIGTERM and SIGKILL, by the definition it started with.
    pub(crate) kill_grace: Duration,
    /// Try once more to record the end, and then leave it.
    pub(crate) give_up: CancellationToken,
}

impl LockHandle {
    /// A line to a holder that is about to start.
    pub(crate) fn new(kill_grace: Duration) -> Self {
        Self {
            kill_grace,
            stops: watch::Sender::new(None),
            renew: Arc::new(Notify::new()),
            renewed: watch::Sender::new(0),
            proven_ms: Arc::default(),
            no_more: CancellationToken::new(),
            over: CancellationToken::new(),
            give_up: CancellationToken::new(),
        }
    }

    /// Whether the run may prove that it lives by renewing its lock: not right after it did so.
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

/// How a replica is told to stop. The second tells more than the first.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Take no new ticks, let runs finish for the time to drain, then stop them.
    pub drain: CancellationToken,
    /// Stop everything at once.
    pub at_once: CancellationToken,
}
