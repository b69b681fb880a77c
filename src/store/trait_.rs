//! The interface of every store.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::job::{JobName, format_duration};
use crate::lease::{HistoryEntry, Record, Reply, Request};

use super::{
    Beat, Concern, Feed, FeedId, FeedLine, GLANCED_ENTRIES, Hint, JobGlance, JobStanding, Marked, Pulse,
    Slip, StoreError, Wake,
};

/// Every store keeps this many entries per job, the newest. The Redis scripts repeat the number.
pub const KEPT_ENTRIES: usize = 200;

/// A store forgets a replica after this many milliseconds without a heartbeat.
pub(crate) const FORGET_NODES_MS: i64 = 3_600_000;

/// A store returns a notice for this many milliseconds. Replicas receive it within a second; one that is starting has not
/// seen it yet.
pub(crate) const FORGET_NOTICES_MS: i64 = 60_000;

/// How jobs stand is read of at most this many together: about a millisecond of the store's time.
pub(super) const STANDINGS_TOGETHER: usize = 256;

/// A read that takes several requests ends within this time, however many they are.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// The entries of one job, oldest first.
pub type JobEntries = (JobName, Vec<HistoryEntry>);

/// The future of a store's answer.
pub type Answered<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The answer to one request of several.
pub type Replied = Result<Reply, StoreError>;

/// Completes the replies to `all` requests after a batch of `asked` failed: that batch gets `error`, and the requests after
/// it, which are not sent, get `NotSent`.
pub(super) fn fail_from(replies: &mut Vec<Replied>, asked: usize, all: usize, error: &StoreError) {
    replies.extend(std::iter::repeat_n(Err(error.clone()), asked));
    replies.resize(all, Err(StoreError::NotSent(error.diagnosis().clone())));
}

/// Bounds the time of a read that takes several requests.
pub(super) async fn within_limit<T>(
    reading: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late =
        |_| StoreError::Unknown(format!("no whole answer within {}", format_duration(READ_LIMIT)).into());
    timeout(READ_LIMIT, reading).await.map_err(late)?
}

/// A store: one cluster's records, history and heartbeats, and what its replicas leave for each other. Every call ends within a
/// few seconds, a read of many jobs or lines within ten; a [`StoreError`] says whether the request may have been applied.
pub trait Store: Send + Sync + fmt::Debug {
    /// Waits until the store accepts requests, at most a few seconds.
    fn ready(&self) -> Answered<'_, ()>;

    /// Decides a request on a job's record, atomically.
    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply>;

    /// Decides requests on the records of several jobs in their order, each atomically by itself, in as few exchanges as
    /// possible. Returns one reply per request, in the same order.
    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>>;

    /// Sends a heartbeat, and returns what the store knows. Without a heartbeat it only reads.
    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse>;

    /// Leaves a notice that an operator has changed the job's record. Replicas receive it with their next heartbeats.
    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()>;

    /// Receives hints of decisions as they are made, until the receiver is dropped. A store without hints closes the
    /// channel at once. Hints that are sent while the store cannot be reached are lost.
    fn hints(&self) -> mpsc::Receiver<Hint>;

    /// Returns for each of these jobs whether the cluster has ever known it, in their order.
    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>>;

    /// Returns every job that the cluster has ever known, by name.
    fn jobs(&self) -> Answered<'_, Vec<JobName>>;

    /// Records that the cluster knows these jobs.
    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()>;

    /// Returns the records of these jobs, in their order; `None` for a job without one.
    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>>;

    /// Returns the record of this job; `None` if it has none.
    fn record_of<'a>(&'a self, job: &'a JobName) -> Answered<'a, Option<Record>> {
        Box::pin(async move {
            let records = self.records(std::slice::from_ref(job)).await?;
            Ok(records.into_iter().next().flatten())
        })
    }

    /// Returns how far the ticks of these jobs are decided, in their order; `None` for a job without a record that this
    /// release can read, or with ticks below its mark that are open again. Cheaper than reading the records where a store
    /// sends hints.
    fn marks<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Marked>>> {
        Box::pin(async move {
            let records = self.records(jobs).await?;
            Ok(records.iter().map(|record| record.as_ref().and_then(Marked::of)).collect())
        })
    }

    /// Returns at most the `newest` entries of each of these jobs, in their order.
    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>>;

    /// Returns how these jobs stand, in their order; `None` for a job without a record that this release can read. The jobs
    /// are read 256 at a time.
    fn standings<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<JobStanding>>> {
        Box::pin(within_limit(async move {
            let mut standings = Vec::with_capacity(jobs.len());
            for jobs in jobs.chunks(STANDINGS_TOGETHER) {
                match self.records(jobs).await {
                    Err(error) if error.is_of_one_job() => {
                        for job in jobs {
                            let record = self.record_of(job).await.or_else(StoreError::unless_of_one_job)?;
                            standings.push(record.as_ref().map(JobStanding::of));
                        }
                    }
                    records => {
                        standings.extend(records?.iter().map(|record| record.as_ref().map(JobStanding::of)))
                    }
                }
            }
            Ok(standings)
        }))
    }

    /// Returns the records of these jobs, and of each at most the `newest` entries without their output, and no more than
    /// [`GLANCED_ENTRIES`]; in their order. Cheaper than reading records and history. A job whose data cannot be read does not
    /// hide the others.
    fn glance<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobGlance>> {
        Box::pin(within_limit(async move {
            let mut glances = Vec::with_capacity(jobs.len());
            for job in jobs {
                // The record first: a run that ends between the two reads is found in both, and never in neither.
                let record = self.record_of(job).await;
                let entries = self.history(std::slice::from_ref(job), newest.min(GLANCED_ENTRIES)).await;
                let entries =
                    entries.map(|found| found.into_iter().flat_map(|(_, entries)| entries).collect());
                glances.push(JobGlance::of(record, entries)?);
            }
            Ok(glances)
        }))
    }

    /// Appends a line to a feed, which keeps its newest [`Feed::kept`] lines, and sends a wake where the store has a channel.
    /// Refuses a line of more than [`LONGEST_LINE`](super::LONGEST_LINE) bytes.
    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()>;

    /// Returns at most `count` of the newest lines of a feed, only those after the line `after` if it is given; oldest first.
    /// Ids of lines that a store forgot mean nothing in its next era: `after` is given again only within one.
    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>>;

    /// Leaves a text in a slip, and sends a wake where the store has a channel. From then on the slip lasts for `ttl`, at most
    /// for [`LONGEST_TTL`](super::LONGEST_TTL). Refuses a text that would make the slip larger than
    /// [`SLIP_BYTES`](super::SLIP_BYTES) or [`SLIP_TEXTS`](super::SLIP_TEXTS).
    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()>;

    /// Removes what was left in a slip, and returns it, oldest first. If the answer is lost, so is what was left.
    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>>;

    /// Receives the wakes of all slips and feeds, until the receiver is dropped. A store without a channel closes the receiver
    /// at once. Wakes may be lost, or sent by others without a cause, at any rate: whoever receives them takes all that wait, and
    /// then reads once.
    fn wakes(&self) -> mpsc::Receiver<Wake>;

    /// Returns all findings about how the store is set up, in no order. Leaves the store as it was.
    fn inspect(&self) -> Answered<'_, Vec<Concern>>;

    /// Returns the findings that do not concern this client and its rights, with fewer requests.
    fn settings(&self) -> Answered<'_, Vec<Concern>> {
        self.inspect()
    }

    /// Describes for people the process that has kept all others from writing for longer than a second, and what to do
    /// about it; `None` if there is none.
    fn blocked(&self) -> Answered<'_, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns the address of the store for people, without secrets: `redis://host:6379/0`.
    fn label(&self) -> String;
}
