//! Errands: what a replica requests from the store or reads from disk while its loop continues. Each errand is a task
//! that returns its result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use tracing::warn;

use crate::events::run_ref::Run;
use crate::hold::context::Context;
use crate::hold::give_back::give_back;
use crate::hold::handle::LockHandle;
use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{JobName, RunId};
use crate::lease::{Abandon, Claim, Finish, Manual, Open, Protection, Record, Request};
use crate::replica::core::{CoreInput, PastRead};
use crate::replica::recovery::orphans::{finish_in_mid_run, orphans};
use crate::store::Replied;
use crate::time::BootInstant;

/// How long to wait for a renewal that is to prove that a run is alive.
pub(crate) const PROOF_LIMIT: Duration = Duration::from_secs(2);

/// How long to wait for the disk. Reading a few thousand small files takes far less.
const RECALL_LIMIT: Duration = Duration::from_secs(3);

/// An inspection of the store that takes longer is given up; the next heartbeat with an answer starts another.
const INSPECTION_LIMIT: Duration = Duration::from_secs(5);

/// An errand's result.
#[derive(Debug)]
pub(super) enum Done {
    /// The core takes this in.
    Input(Box<CoreInput>),
    /// Claims that were sent together: the answers that have come, and the claims that still wait for theirs.
    Claimed { sent: BootInstant, answers: Vec<(JobName, Replied)>, others: Claims },
    /// Nothing that anybody waits for.
    Nothing,
}

/// Claims that wait for their answers.
pub(super) type Claims = FuturesUnordered<BoxFuture<'static, (JobName, Replied)>>;

/// How many records one call opens, and how many calls are under way: each round trip of a slow connection opens 256
/// records.
const OPENED_TOGETHER: usize = 32;
const OPENING_AT_A_TIME: usize = 8;

/// Sends claims for all these jobs at the same time.
pub(super) async fn claim(context: Arc<Context>, claims: Vec<(JobName, Claim)>) -> Done {
    let sent = context.clock.boot();
    let ask = |(job, claim): (JobName, Claim)| {
        let context = Arc::clone(&context);
        let answered = async move {
            let replied = context.store.submit(&job, &Request::Claim(claim)).await;
            (job, replied)
        };
        answered.boxed()
    };
    claims_answered(sent, claims.into_iter().map(ask).collect()).await
}

/// Waits for the next answers. No claim waits for the answer to another.
pub(super) async fn claims_answered(sent: BootInstant, mut claims: Claims) -> Done {
    let mut answers = Vec::from_iter(claims.next().await);
    while let Some(Some(next)) = claims.next().now_or_never() {
        answers.push(next);
    }
    Done::Claimed { sent, answers, others: claims }
}

/// Gives back what an unanswered claim may have been granted, and sends a new claim.
pub(super) async fn claim_instead(context: Arc<Context>, job: JobName, claim: Claim, doubt: Abandon) -> Done {
    give_back(&context, &job, doubt).await;
    self::claim(context, vec![(job, claim)]).await
}

/// Gives back a lock under which nothing was started.
pub(super) async fn abandon(context: Arc<Context>, job: JobName, doubt: Abandon) -> Done {
    give_back(&context, &job, doubt).await;
    Done::Nothing
}

/// Makes the other replicas read the job's record, because a run was interrupted. Without this, they check the job
/// when its lease would be over.
pub(super) async fn announce(context: Arc<Context>, job: JobName) -> Done {
    let _ = context.store.announce(&job).await;
    Done::Nothing
}

/// Reads what an earlier process left behind. If the disk does not answer in time, the jobs noted there stay locked
/// until their leases end.
pub(super) async fn recall(context: Arc<Context>) -> Done {
    let reading = async {
        let notes = context.lease_file.read().await;
        let task_context = Arc::clone(&context);
        let signs = tokio::task::spawn_blocking(move || task_context.logs.marked(&task_context.node)).await;
        orphans(&notes, signs.expect("reading signs neither panics nor is aborted"))
    };
    let read = tokio::time::timeout(RECALL_LIMIT, reading).await;
    let orphans = read.unwrap_or_else(|_| {
        warn!(node = %context.node, "state folder does not answer: jobs that were running before the restart wait for their lease to end");
        Vec::new()
    });
    let (largest_fence, noted) = (context.lease_file.largest_fence(), context.lease_file.jobs());
    Done::Input(Box::new(CoreInput::PastRead(PastRead { orphans, largest_fence, noted })))
}

/// Deletes the note of a job.
pub(super) async fn forget(context: Arc<Context>, job: JobName) -> Done {
    context.lease_file.forget(&job).await;
    Done::Nothing
}

/// Reads which of the jobs the cluster knows, opens the records, sends the finishes of `resend` that are noted, and then
/// enrols the jobs that have records. In this order, replicas that start together all find a new job new.
pub(super) async fn open(
    context: Arc<Context>,
    mut opens: Vec<(JobName, Open)>,
    resend: Vec<(JobName, Option<Finish>)>,
) -> Done {
    let jobs: Vec<JobName> = opens.iter().map(|(job, _)| job.clone()).collect();
    let ends: Vec<(JobName, Finish)> =
        resend.iter().filter_map(|(job, finish)| Some((job.clone(), finish.clone()?))).collect();
    if opens.is_empty() && ends.is_empty() {
        let resent = resend.into_iter().map(|(job, _)| (job, None)).collect();
        return Done::Input(Box::new(CoreInput::RecordsOpened { opened: Vec::new(), resent }));
    }
    let known = context.store.known(&jobs).await;
    let replies = match known {
        Err(error) => vec![Err(error); opens.len() + ends.len()],
        Ok(known) => {
            opens.iter_mut().zip(known).for_each(|((_, open), known)| open.is_known_job |= known);
            let opens = opens.into_iter().map(|(job, open)| (job, Request::Open(open)));
            let ends = ends.into_iter().map(|(job, finish)| (job, Request::Finish(finish)));
            let opened = submit_many(&context, opens.collect()).await;
            opened.into_iter().chain(submit_many(&context, ends.collect()).await).collect()
        }
    };
    let mut replies = replies.into_iter();
    let opened: Vec<_> = jobs.into_iter().zip(&mut replies).collect();
    let resent = resend.into_iter().map(|(job, finish)| {
        let told = finish.and_then(|finish| Some((Run::of(&job, &finish.lease), replies.next()?)));
        (job, told)
    });
    let resent = resent.collect();
    // No record is created for a job that is not enabled.
    let has_record = |reply: &Replied| reply.as_ref().is_ok_and(|reply| reply.mark.is_some());
    let made: Vec<JobName> =
        opened.iter().filter(|(_, reply)| has_record(reply)).map(|(job, _)| job.clone()).collect();
    // If this fails, the cluster takes the jobs for new until their next opening.
    let _ = context.store.enroll(&made).await;
    Done::Input(Box::new(CoreInput::RecordsOpened { opened, resent }))
}

/// Returns the end of the job's last run that has to be sent to the store again: of a run that has ended, and of no
/// other.
pub(super) fn noted_end(context: &Context, job: &JobName) -> Option<Finish> {
    match context.lease_file.note(job)? {
        LeaseNote::Ended(finish) => Some(finish),
        LeaseNote::Running { .. } if Protection::ResentFinish.is_on() => None,
        LeaseNote::Running { lease, .. } => {
            Some(finish_in_mid_run(lease, context.store_clock.era(), context.store_time()))
        }
    }
}

/// Sends requests, each about another job, in any order. Returns the answers in the order of the requests.
async fn submit_many(context: &Context, requests: Vec<(JobName, Request)>) -> Vec<Replied> {
    let together = requests.chunks(OPENED_TOGETHER);
    let calls: Vec<BoxFuture<'_, Vec<Replied>>> =
        together.map(|some| context.store.submit_all(some)).collect();
    stream::iter(calls).buffered(OPENING_AT_A_TIME).collect::<Vec<_>>().await.concat()
}

/// Renews at once the locks whose records are missing, or do not show this replica's run as running.
pub(super) async fn look_at_locks(context: Arc<Context>, held: Vec<(JobName, RunId, LockHandle)>) -> Done {
    let jobs: Vec<JobName> = held.iter().map(|(job, ..)| job.clone()).collect();
    // The outer `None`: the record cannot be read.
    let found: Vec<Option<Option<Record>>> = match context.store.records(&jobs).await {
        Ok(records) => records.into_iter().map(Some).collect(),
        // Each by itself: a record that cannot be read hides no other.
        Err(_) => {
            let found = join_all(jobs.iter().map(|job| context.store.record_of(job))).await;
            found.into_iter().map(Result::ok).collect()
        }
    };
    for ((_, run, handle), found) in held.iter().zip(found) {
        let is_lost = |record: Option<Record>| {
            !record.is_some_and(|record| record.is_running() && record.run == Some(*run))
        };
        if found.is_some_and(is_lost) {
            handle.renew.notify_one();
        }
    }
    Done::Nothing
}

/// Makes this replica's own run renew its lock, which proves that it is alive.
pub(super) async fn prove(job: JobName, handle: LockHandle) -> Done {
    let mut renewed = handle.renewed.subscribe();
    renewed.mark_unchanged();
    handle.renew.notify_one();
    // Whether it has renewed, has ended or has not answered, the tick is claimed again.
    tokio::select! {
        _ = renewed.changed() => {}
        () = handle.run_ended.cancelled() => {}
        () = tokio::time::sleep(PROOF_LIMIT) => {}
    }
    Done::Input(Box::new(CoreInput::RunProven(job)))
}

/// Requests the lock for a run by hand.
pub(super) async fn obey(context: Arc<Context>, job: JobName, manual: Manual) -> Done {
    let (run, sent) = (manual.run, context.clock.boot());
    let reply = context.store.submit(&job, &Request::Manual(manual)).await;
    Done::Input(Box::new(CoreInput::ManualRunAnswered { job, run, sent, reply }))
}

/// Reads a job's record after `delay`, when it is this replica's turn.
pub(super) async fn look(context: Arc<Context>, job: JobName, delay: Duration) -> Done {
    tokio::time::sleep(delay).await;
    let record = context.store.record_of(&job).await;
    Done::Input(Box::new(CoreInput::RecordRead { job, record: record.map(|record| record.map(Box::new)) }))
}

/// Reads the marks of these jobs.
pub(super) async fn read_marks(context: Arc<Context>, jobs: Vec<JobName>) -> Done {
    let marks = context.store.marks(&jobs).await.unwrap_or_default();
    Done::Input(Box::new(CoreInput::MarksRead { jobs, marks }))
}

/// Inspects how the store is set up.
pub(super) async fn inspect(context: Arc<Context>) -> Done {
    let inspection = tokio::time::timeout(INSPECTION_LIMIT, async {
        // The cause of this inspection may have dropped the connection.
        context.store.ready().await?;
        context.store.inspect().await
    });
    Done::Input(Box::new(CoreInput::StoreInspected(inspection.await.ok().and_then(Result::ok))))
}
