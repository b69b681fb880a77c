//! Gives back a lock under which nothing was started.

use std::time::Duration;

use crate::job::{JobName, RunId};
use crate::lease::{Abandon, Era, Request};

use super::context::Context;

/// After this many tries, a lock that cannot be given back is left to expire.
pub(crate) const ABANDON_TRIES: u32 = 5;

pub(crate) const ABANDON_PAUSE: Duration = Duration::from_millis(200);

/// A run whose lock is to be given back: nothing was started under it, whether or not it was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The run.
    pub run: RunId,
    /// The store's era, as the replica knew it, in which the lock was claimed.
    pub era: Era,
    /// Whether an edit of the job removed the run's tick from the schedule.
    pub edited: bool,
}

impl Doubt {
    /// The request that gives the lock back.
    pub(crate) fn abandon(&self) -> Abandon {
        Abandon { run: self.run, era: self.era.clone(), edited: self.edited }
    }
}

/// Gives back the lock of this run. If the store does not answer, the lock is left to expire.
pub(crate) async fn give_back(context: &Context, job: &JobName, doubt: Doubt) {
    let request = Request::Abandon(doubt.abandon());
    for _ in 0..ABANDON_TRIES {
        if let Ok(reply) = context.store.submit(job, &request).await {
            if reply.rerun.is_some_and(|rerun| !rerun.goes_on) {
                // The tick may be rerun now. This replica may drain, and the other replicas still take the run for
                // running: the announcement makes them read the record.
                let _ = context.store.announce(job).await;
            }
            return;
        }
        tokio::time::sleep(ABANDON_PAUSE).await;
    }
}
