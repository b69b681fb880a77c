//! Gives back a lock under which nothing was started.

use std::time::Duration;

use crate::job::{JobName, RunId};
use crate::lease::{Abandon, Era, Request};

use super::context::Context;

/// A lock that cannot be given back is left to its time limit after this many tries.
const ABANDON_TRIES: u32 = 5;

/// Between two tries to give a lock back.
const ABANDON_PAUSE: Duration = Duration::from_millis(200);

/// A run whose lock is to be given back: nothing was started, whether or not it was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The run.
    pub run: RunId,
    /// The life of the store, as the replica knew it, in which it was claimed.
    pub era: Era,
    /// Its tick is none any more, as the job was edited.
    pub edited: bool,
}

impl Doubt {
    /// Gives it back.
    pub(crate) fn abandon(&self) -> Abandon {
        Abandon { run: self.run, era: self.era.clone(), edited: self.edited }
    }
}

/// Gives back the lock of this run, as far as the store answers.
pub(crate) async fn give_back(context: &Context, job: &JobName, doubt: Doubt) {
    let request = Request::Abandon(doubt.abandon());
    for _ in 0..ABANDON_TRIES {
        if let Ok(reply) = context.store.submit(job, &request).await {
            if reply.rerun.is_some_and(|rerun| !rerun.goes_on) {
                // This replica may drain, and the others know of it as of one that goes on.
                let _ = context.store.announce(job).await;
            }
            return;
        }
        tokio::time::sleep(ABANDON_PAUSE).await;
    }
}
