//! Gives back a lock under which nothing was started.

use std::time::Duration;

use crate::job::JobName;
use crate::lease::{Abandon, Request};

use super::context::Context;

/// After this many tries, a lock that cannot be given back is left to expire.
pub(crate) const ABANDON_TRIES: u32 = 5;

pub(crate) const ABANDON_PAUSE: Duration = Duration::from_millis(200);

/// Gives back the lock of this run. If the store does not answer, the lock is left to expire.
pub(crate) async fn give_back(context: &Context, job: &JobName, doubt: Abandon) {
    let request = Request::Abandon(doubt);
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
