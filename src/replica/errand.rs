//! What a replica asks of the store while its loop goes on: each errand is a task that comes back with its result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::job::JobName;
use crate::lease::{Abandon, BootInstant, Claim, Open, Reply, Request};
use crate::store::StoreError;

use super::action::Doubt;
use super::keeper::Line;
use super::shop::Shop;

/// A lock that cannot be given back is left to its time limit after this many tries.
const ABANDON_TRIES: u32 = 5;

/// Between two tries to give a lock back.
const ABANDON_PAUSE: Duration = Duration::from_millis(200);

/// A renewal asked for as a proof of life is waited for this long.
const PROOF_LIMIT: Duration = Duration::from_secs(2);

/// An errand's result.
#[derive(Debug)]
pub(super) enum Done {
    /// A claim was answered, or not.
    Claimed { job: JobName, sent: BootInstant, result: Result<Reply, StoreError> },
    /// Records were opened, or not.
    Opened(Vec<(JobName, Result<Reply, StoreError>)>),
    /// A lock was given back, as far as possible.
    Abandoned,
    /// This replica's own run has shown that it lives, or has ended.
    Proven(JobName),
}

/// Claims; before that, gives back what an unanswered claim may have taken.
pub(super) async fn claim(shop: Arc<Shop>, job: JobName, claim: Claim, instead_of: Option<Doubt>) -> Done {
    if let Some(doubt) = instead_of {
        give_back(&shop, &job, doubt).await;
    }
    let sent = shop.clock.boot();
    let result = shop.store.submit(&job, &Request::Claim(claim)).await;
    Done::Claimed { job, sent, result }
}

/// Gives back a lock under which nothing was started.
pub(super) async fn abandon(shop: Arc<Shop>, job: JobName, doubt: Doubt) -> Done {
    give_back(&shop, &job, doubt).await;
    Done::Abandoned
}

async fn give_back(shop: &Shop, job: &JobName, doubt: Doubt) {
    let request = Request::Abandon(Abandon { run: doubt.run, era: doubt.era });
    for _ in 0..ABANDON_TRIES {
        if shop.store.submit(job, &request).await.is_ok() {
            return;
        }
        tokio::time::sleep(ABANDON_PAUSE).await;
    }
}

/// Opens records: asks first which jobs the cluster knows, and tells it of the others afterwards, so that replicas that
/// start together all find them new.
pub(super) async fn open(shop: Arc<Shop>, mut opens: Vec<(JobName, Open)>) -> Done {
    let jobs: Vec<JobName> = opens.iter().map(|(job, _)| job.clone()).collect();
    let known = match shop.store.known(&jobs).await {
        Ok(known) => known,
        Err(error) => return Done::Opened(jobs.into_iter().map(|job| (job, Err(error.clone()))).collect()),
    };
    for ((_, open), known) in opens.iter_mut().zip(known) {
        open.known |= known;
    }
    let requests: Vec<(JobName, Request)> =
        opens.into_iter().map(|(job, open)| (job, Request::Open(open))).collect();
    let replies = join_all(requests.iter().map(|(job, request)| shop.store.submit(job, request))).await;
    let opened: Vec<_> = jobs.into_iter().zip(replies).collect();
    let told: Vec<JobName> =
        opened.iter().filter(|(_, reply)| reply.is_ok()).map(|(job, _)| job.clone()).collect();
    // A cluster that was not told takes the jobs for new once more, which costs it nothing but the next opening.
    let _ = shop.store.enroll(&told).await;
    Done::Opened(opened)
}

/// Lets this replica's own run renew its lock, which proves that it lives.
pub(super) async fn prove(job: JobName, line: Line) -> Done {
    let mut renewed = line.renewed.subscribe();
    renewed.mark_unchanged();
    line.renew.notify_one();
    // Whether it did or has ended meanwhile, the tick is asked for again.
    tokio::select! {
        _ = renewed.changed() => {}
        () = line.over.cancelled() => {}
        () = tokio::time::sleep(PROOF_LIMIT) => {}
    }
    Done::Proven(job)
}
