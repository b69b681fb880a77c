//! What a replica asks of the store while its loop goes on: each errand is a task that comes back with its result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use futures_util::stream::{self, FuturesUnordered, StreamExt as _};
use tracing::warn;

use crate::events::run_ref::Run;
use crate::hold::context::Context;
use crate::hold::give_back::{Doubt, give_back};
use crate::hold::handle::LockHandle;
use crate::job::{JobName, RunId};
use crate::lease::{Claim, Finish, Manual, Open, Record, Reply, Request};
use crate::store::{Concern, Marked, Replied, StoreError};
use crate::time::BootInstant;

use super::recovery::lost_runs::Settled;
use super::recovery::orphans::{Orphan, orphans};

/// A renewal asked for as a proof of life is waited for this long.
const PROOF_LIMIT: Duration = Duration::from_secs(2);

/// Reading a few thousand small files takes far less.
const RECALL_LIMIT: Duration = Duration::from_secs(3);
/// A store that has not told how it is set up by then is asked again when it comes into sight again.
const INSPECTION_LIMIT: Duration = Duration::from_secs(5);

/// An errand's result.
#[derive(Debug)]
pub(super) enum Done {
    /// Of claims that were sent at the same time, these were answered, or not. The others still wait.
    Claimed { sent: BootInstant, answered: Vec<(JobName, Replied)>, others: Claims },
    /// What a former life left behind.
    Recalled(Vec<Orphan>),
    /// Records were opened, or not; and the store was told how runs ended, or not.
    Opened { opened: Vec<(JobName, Replied)>, told: Vec<(Run, Replied)> },
    /// A request to run what was ordered was answered, or not.
    Obeyed { job: JobName, run: RunId, sent: BootInstant, result: Result<Reply, StoreError> },
    /// A record was looked at, or not.
    Looked { job: JobName, record: Result<Option<Box<Record>>, StoreError> },
    /// The records of jobs that run here were read: these were missing, and were put back by this replica.
    LocksRead { put_back: Vec<JobName> },
    /// The marks of jobs were read, or not.
    Marked { jobs: Vec<JobName>, marks: Vec<Option<Marked>> },
    /// Records were read, to find runs without their replicas: those of jobs that are running, and which were not read.
    Searched { running: Vec<(JobName, Record)>, unread: Vec<JobName> },
    /// The store was asked about a run without its replica.
    Settled { run: Run, settled: Settled },
    /// What was noted of a job is not noted any more.
    Forgotten,
    /// A lock was given back, as far as possible.
    Abandoned,
    /// The others are told of a rerun, as far as possible.
    Announced,
    /// This replica's own run has shown that it lives, or has ended.
    Proven(JobName),
    /// What there is to know about how the store is set up, if it told.
    Inspected(Option<Vec<Concern>>),
}

/// Claims that wait for their answers.
pub(super) type Claims = FuturesUnordered<BoxFuture<'static, (JobName, Replied)>>;

/// Records that are opened by one exchange, and exchanges that are under way: over a slow line, so many in each round trip.
const OPENED_TOGETHER: usize = 32;
const OPENING_AT_A_TIME: usize = 8;

/// Claims for all these jobs at the same time.
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

/// Waits for the next answers. Nobody waits for that of another.
pub(super) async fn claims_answered(sent: BootInstant, mut claims: Claims) -> Done {
    let mut answered = Vec::from_iter(claims.next().await);
    while let Some(Some(next)) = claims.next().now_or_never() {
        answered.push(next);
    }
    Done::Claimed { sent, answered, others: claims }
}

/// Gives back what an unanswered claim may have taken, and claims anew.
pub(super) async fn claim_instead(context: Arc<Context>, job: JobName, claim: Claim, of: Doubt) -> Done {
    give_back(&context, &job, of).await;
    self::claim(context, vec![(job, claim)]).await
}

/// Gives back a lock under which nothing was started.
pub(super) async fn abandon(context: Arc<Context>, job: JobName, doubt: Doubt) -> Done {
    give_back(&context, &job, doubt).await;
    Done::Abandoned
}

/// Tells the others to look at the job's record: a run was cut short. Without it, they look when its lease would be over.
pub(super) async fn announce(context: Arc<Context>, job: JobName) -> Done {
    let _ = context.store.announce(&job).await;
    Done::Announced
}

/// Reads what a former life left behind. A disk that does not answer is not waited for: what it holds costs a lease.
pub(super) async fn recall(context: Arc<Context>) -> Done {
    let reading = async {
        let notes = context.lease_file.read().await;
        let at = Arc::clone(&context);
        let signs = tokio::task::spawn_blocking(move || at.logs.marked(&at.node)).await;
        orphans(&notes, signs.expect("reading signs neither panics nor is it aborted"))
    };
    let read = tokio::time::timeout(RECALL_LIMIT, reading).await;
    Done::Recalled(read.unwrap_or_else(|_| {
        warn!(node = %context.node, "state folder does not answer: jobs that were running before the restart wait for their lease to end");
        Vec::new()
    }))
}

/// Notes nothing more of a job.
pub(super) async fn forget(context: Arc<Context>, job: JobName) -> Done {
    context.lease_file.forget(&job).await;
    Done::Forgotten
}

/// Opens records, and then tells how runs ended, many at a time. Asks before which jobs the cluster knows, and tells it of
/// the others afterwards, so that replicas that start together all find them new.
pub(super) async fn open(
    context: Arc<Context>,
    mut opens: Vec<(JobName, Open)>,
    ends: Vec<(JobName, Finish)>,
) -> Done {
    let jobs: Vec<JobName> = opens.iter().map(|(job, _)| job.clone()).collect();
    let runs: Vec<Run> = ends.iter().map(|(job, finish)| Run::of(job, &finish.lease)).collect();
    let known = context.store.known(&jobs).await;
    let replies = match known {
        Err(error) => vec![Err(error); opens.len() + ends.len()],
        Ok(known) => {
            opens.iter_mut().zip(known).for_each(|((_, open), known)| open.known |= known);
            let opens = opens.into_iter().map(|(job, open)| (job, Request::Open(open)));
            let ends = ends.into_iter().map(|(job, finish)| (job, Request::Finish(finish)));
            let opened = submit_many(&context, opens.collect()).await;
            opened.into_iter().chain(submit_many(&context, ends.collect()).await).collect()
        }
    };
    let mut replies = replies.into_iter();
    let opened: Vec<_> = jobs.into_iter().zip(&mut replies).collect();
    let told = runs.into_iter().zip(replies).collect();
    // A job that is not enabled has none, if it never had one.
    let has_record = |reply: &Replied| reply.as_ref().is_ok_and(|reply| reply.mark.is_some());
    let made: Vec<JobName> =
        opened.iter().filter(|(_, reply)| has_record(reply)).map(|(job, _)| job.clone()).collect();
    // A cluster that was not told takes the jobs for new once more, which costs it nothing but the next opening.
    let _ = context.store.enroll(&made).await;
    Done::Opened { opened, told }
}

/// Makes requests about as many jobs, in whatever order; their answers are in theirs.
async fn submit_many(context: &Context, requests: Vec<(JobName, Request)>) -> Vec<Replied> {
    let together = requests.chunks(OPENED_TOGETHER);
    let calls: Vec<BoxFuture<'_, Vec<Replied>>> =
        together.map(|some| context.store.submit_all(some)).collect();
    stream::iter(calls).buffered(OPENING_AT_A_TIME).collect::<Vec<_>>().await.concat()
}

/// Renews at once the locks that the store does not know any more, and finds the records that their holders put back.
pub(super) async fn look_at_locks(context: Arc<Context>, held: Vec<(JobName, LockHandle)>) -> Done {
    let jobs: Vec<JobName> = held.iter().map(|(job, _)| job.clone()).collect();
    // Of a record that cannot be read nothing is known.
    let found: Vec<Option<Option<Record>>> = match context.store.records(&jobs).await {
        Ok(records) => records.into_iter().map(Some).collect(),
        // Each by itself: one that cannot be read hides no other.
        Err(_) => {
            let looks = jobs.iter().map(|job| context.store.records(std::slice::from_ref(job)));
            let found = join_all(looks).await;
            found.into_iter().map(|found| found.ok()?.pop()).collect()
        }
    };
    let is_lost = |record: &Option<Record>| !record.as_ref().is_some_and(Record::is_running);
    let lost = held.iter().zip(&found).filter(|(_, found)| found.as_ref().is_some_and(is_lost));
    lost.for_each(|((_, handle), _)| handle.renew.notify_one());
    let is_put_back = |record: &Option<Record>| record.as_ref().is_some_and(Record::is_put_back);
    let put_back = jobs.into_iter().zip(found).filter(|(_, found)| found.as_ref().is_some_and(is_put_back));
    Done::LocksRead { put_back: put_back.map(|(job, _)| job).collect() }
}

/// Lets this replica's own run renew its lock, which proves that it lives.
pub(super) async fn prove(job: JobName, handle: LockHandle) -> Done {
    let mut renewed = handle.renewed.subscribe();
    renewed.mark_unchanged();
    handle.renew.notify_one();
    // Whether it did or has ended meanwhile, the tick is asked for again.
    tokio::select! {
        _ = renewed.changed() => {}
        () = handle.over.cancelled() => {}
        () = tokio::time::sleep(PROOF_LIMIT) => {}
    }
    Done::Proven(job)
}

/// Asks for the lock for a run that somebody ordered.
pub(super) async fn obey(context: Arc<Context>, job: JobName, manual: Manual) -> Done {
    let (run, sent) = (manual.run, context.clock.boot());
    let result = context.store.submit(&job, &Request::Manual(manual)).await;
    Done::Obeyed { job, run, sent, result }
}

/// Looks at a job's record, once it is this replica's turn.
pub(super) async fn look(context: Arc<Context>, job: JobName, turn: Duration) -> Done {
    tokio::time::sleep(turn).await;
    let records = context.store.records(std::slice::from_ref(&job)).await;
    Done::Looked { job, record: records.map(|records| records.into_iter().next().flatten().map(Box::new)) }
}

/// Reads how far the ticks of these jobs are decided.
pub(super) async fn read_marks(context: Arc<Context>, jobs: Vec<JobName>) -> Done {
    let marks = context.store.marks(&jobs).await.unwrap_or_default();
    Done::Marked { jobs, marks }
}

/// Looks at how the store is set up.
pub(super) async fn inspect(context: Arc<Context>) -> Done {
    let inspection = tokio::time::timeout(INSPECTION_LIMIT, async {
        // What brought this about may have dropped the connection.
        context.store.ready().await?;
        context.store.inspect().await
    });
    Done::Inspected(inspection.await.ok().and_then(Result::ok))
}
