//! How others reach the keeper of a lock, and what they hear of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::run::StopOrder;

/// How others reach a keeper.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Orders to the run.
    pub(super) stops: watch::Sender<Option<StopOrder>>,
    /// Renew now, which proves that the holder lives.
    pub(super) renew: Arc<Notify>,
    /// Counts good renewals.
    pub(super) renewed: watch::Sender<u64>,
    /// After this attempt there is no other.
    pub(super) no_more: CancellationToken,
    /// Nothing of the run is left; its end may not be recorded yet.
    pub(super) over: CancellationToken,
    /// What the run is given between SIGTERM and SIGKILL, by the definition it started with.
    pub(super) kill_grace: Duration,
    /// Try once more to record the end, and then leave it.
    pub(super) give_up: CancellationToken,
}

impl Line {
    /// A line to a keeper that is about to start.
    pub(super) fn new(kill_grace: Duration) -> Self {
        Self {
            kill_grace,
            stops: watch::Sender::new(None),
            renew: Arc::new(Notify::new()),
            renewed: watch::Sender::new(0),
            no_more: CancellationToken::new(),
            over: CancellationToken::new(),
            give_up: CancellationToken::new(),
        }
    }
}
