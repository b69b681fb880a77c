//! What every store can do.

use std::fmt;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::job::JobName;
use crate::lease::{HistoryEntry, Record, Reply, Request};

use super::{Beat, Concern, Hint, Marked, Pulse, StoreError};

/// The newest entries that every store keeps per job; the Redis scripts say the same number once more.
pub const KEPT_ENTRIES: usize = 200;

/// Replicas not heard from for an hour are forgotten by every store.
pub(crate) const FORGET_NODES_MS: i64 = 3_600_000;

/// A notice is told for a minute by every store: replicas hear of it within a second, and one that starts has not seen it.
pub(crate) const FORGET_NOTICES_MS: i64 = 60_000;

/// The entries of one job, oldest first.
pub type JobEntries = (JobName, Vec<HistoryEntry>);

/// The future of a store's answer.
pub type Answered<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The answer to one request of several.
pub type Replied = Result<Reply, StoreError>;

/// The replies to the rest of `all` requests, where a batch of `asked` failed: what follows it is not sent.
pub(super) fn fail_from(replies: &mut Vec<Replied>, asked: usize, all: usize, error: &StoreError) {
    replies.extend(std::iter::repeat_n(Err(error.clone()), asked));
    replies.resize(all, Err(StoreError::NotSent(error.diagnosis().clone())));
}

/// A store: one cluster's records, history and heartbeats. Every call ends within a few seconds.
pub trait Store: Send + Sync + fmt::Debug {
    /// Waits until the store can be asked, at most a few seconds.
    fn ready(&self) -> Answered<'_, ()>;

    /// Decides a request on a job's record, atomically.
    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply>;

    /// Decides requests on the records of several jobs, each atomically by itself and all in their order, in as few
    /// exchanges as that takes. As many answers come back, in the same order.
    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>>;

    /// Exchanges heartbeats; without a beat of one's own, only listens.
    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse>;

    /// Tells replicas, with their next heartbeats, that an operator has changed the job's record.
    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()>;

    /// Listens, until the receiver is dropped, to what is told of decisions as they are made. A store that tells nothing
    /// hangs up at once; one that cannot be heard for a while tells nothing of that while.
    fn hints(&self) -> mpsc::Receiver<Hint>;

    /// Which of these jobs the cluster has ever known, in their order.
    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>>;

    /// Every job that the cluster has ever known, by name.
    fn jobs(&self) -> Answered<'_, Vec<JobName>>;

    /// Remembers that the cluster knows these jobs.
    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()>;

    /// The records of these jobs, in their order.
    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>>;

    /// How far the ticks of these jobs are decided, in their order: of a job without a record that this release can read,
    /// nothing. Cheaper than the records where a store tells hints.
    fn marks<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Marked>>> {
        Box::pin(async move {
            let records = self.records(jobs).await?;
            Ok(records.iter().map(|record| record.as_ref().and_then(Marked::of)).collect())
        })
    }

    /// At most the `newest` entries of each of these jobs, in their order.
    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>>;

    /// What there is to know about how the store is set up, in no order. Changes nothing.
    fn inspect(&self) -> Answered<'_, Vec<Concern>>;

    /// The same without the rights of the user that asks, at the cost of a question or two.
    fn settings(&self) -> Answered<'_, Vec<Concern>> {
        self.inspect()
    }

    /// Who keeps everybody from writing, and the way out, where a process does so for longer than a second: for people.
    fn blocked(&self) -> Answered<'_, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The store for people, without secrets: `redis://host:6379/0`.
    fn label(&self) -> String;
}
