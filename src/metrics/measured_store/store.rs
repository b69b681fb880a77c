//! The wrapper around a store.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::job::JobName;
use crate::lease::{Record, Reply, Request};
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, JobGlance, JobStanding, Marked, Pulse,
    Replied, Slip, Store, StoreError, Wake,
};
use crate::time::Clock;

use super::store_tally::{RequestKind, StoreTally};

/// Passes every call on to a store, and measures how long it takes and how it is answered.
#[derive(Debug)]
pub(crate) struct MeasuredStore {
    store: Arc<dyn Store>,
    tally: Arc<StoreTally>,
    clock: Arc<dyn Clock>,
}

impl MeasuredStore {
    /// Returns the store, with its requests counted in `tally`.
    pub(crate) fn new(store: Arc<dyn Store>, tally: Arc<StoreTally>, clock: Arc<dyn Clock>) -> Self {
        Self { store, tally, clock }
    }

    /// Measures one exchange with the store.
    fn measured<'a, T: Send + 'a>(&'a self, kind: RequestKind, call: Answered<'a, T>) -> Answered<'a, T> {
        Box::pin(async move {
            let sent = self.clock.boot();
            let result = call.await;
            self.tally.count_duration(kind, self.clock.boot().since(sent));
            self.count_result(result.as_ref().err());
            result
        })
    }

    fn count_result(&self, error: Option<&StoreError>) {
        self.tally.count_result(error, self.clock.utc());
    }
}

impl Store for MeasuredStore {
    fn ready(&self) -> Answered<'_, ()> {
        // It waits for a connection, and sends nothing.
        self.store.ready()
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let replied = self.measured(RequestKind::of(request), self.store.submit(job, request)).await;
            self.tally.count_answer(request, &replied);
            replied
        })
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        Box::pin(async move {
            let sent = self.clock.boot();
            let replies = self.store.submit_all(requests).await;
            if let Some((_, first)) = requests.first() {
                // A batch is of one kind, and is one exchange or a few.
                self.tally.count_duration(RequestKind::of(first), self.clock.boot().since(sent));
            }
            for ((_, request), replied) in requests.iter().zip(&replies) {
                self.count_result(replied.as_ref().err());
                self.tally.count_answer(request, replied);
            }
            replies
        })
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        self.measured(RequestKind::Pulse, self.store.pulse(beat))
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        self.measured(RequestKind::Other, self.store.announce(job))
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        self.store.hints()
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        self.measured(RequestKind::Read, self.store.known(jobs))
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        self.measured(RequestKind::Read, self.store.jobs())
    }

    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()> {
        self.measured(RequestKind::Other, self.store.enroll(jobs))
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        self.measured(RequestKind::Read, self.store.records(jobs))
    }

    fn record_of<'a>(&'a self, job: &'a JobName) -> Answered<'a, Option<Record>> {
        self.measured(RequestKind::Read, self.store.record_of(job))
    }

    fn marks<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Marked>>> {
        self.measured(RequestKind::Read, self.store.marks(jobs))
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        self.measured(RequestKind::Read, self.store.history(jobs, newest))
    }

    fn standings<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<JobStanding>>> {
        self.measured(RequestKind::Read, self.store.standings(jobs))
    }

    fn glance<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobGlance>> {
        self.measured(RequestKind::Read, self.store.glance(jobs, newest))
    }

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        self.measured(RequestKind::Other, self.store.append(feed, text))
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        self.measured(RequestKind::Read, self.store.newest(feed, after, count))
    }

    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()> {
        self.measured(RequestKind::Other, self.store.leave(slip, text, ttl))
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        self.measured(RequestKind::Read, self.store.collect(slip))
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        self.store.wakes()
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        self.measured(RequestKind::Other, self.store.inspect())
    }

    fn settings(&self) -> Answered<'_, Vec<Concern>> {
        self.measured(RequestKind::Other, self.store.settings())
    }

    fn blocked(&self) -> Answered<'_, Option<String>> {
        // It looks at this machine's processes, and asks no store.
        self.store.blocked()
    }

    fn label(&self) -> String {
        self.store.label()
    }
}
