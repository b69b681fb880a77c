//! An operator at the store of a bench, which tests can take away.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::job::{JobName, Overlap, RunId, Tick};
use crate::lease::{Answer, HistoryEntry, Manual, Record, Reply, Request, testing};
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, Pulse, Replied, Slip, Store,
    StoreError, Wake,
};
use crate::time::{BootInstant, Clock, UtcMillis, Waiting};
use crate::view::job::{Definition, KnownJob};
use crate::view::testing::{Bench, run_id};

use super::operator::Operator;

/// The store of a bench.
pub(super) struct BenchStore {
    pub(super) bench: Bench,
    /// Whether it does not answer.
    pub(super) is_away: AtomicBool,
    /// How many more requests of operators reach it too late.
    pub(super) late: AtomicU32,
    /// How many notices were left.
    pub(super) notices: AtomicU32,
    /// How many requests of operators were decided.
    pub(super) acts: AtomicU32,
}

impl fmt::Debug for BenchStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BenchStore")
    }
}

/// A wall clock that stands still.
#[derive(Debug)]
pub(super) struct StillClock(pub(super) UtcMillis);

impl Clock for StillClock {
    fn utc(&self) -> UtcMillis {
        self.0
    }

    fn boot(&self) -> BootInstant {
        BootInstant(Duration::ZERO)
    }

    fn wait_until(&self, _: UtcMillis) -> Waiting<'_> {
        Box::pin(std::future::pending())
    }

    fn wait_until_boot(&self, _: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

impl BenchStore {
    /// Returns the store of a cluster with this file, three seconds after its job `backup` was opened: a new
    /// record waits for two.
    pub(super) async fn served(file: &str) -> Arc<Self> {
        let bench = Bench::new(file).await;
        bench.open("backup").await;
        bench.at(3);
        let (is_away, late) = (AtomicBool::new(false), AtomicU32::new(0));
        Arc::new(Self { bench, is_away, late, notices: AtomicU32::new(0), acts: AtomicU32::new(0) })
    }

    /// Returns an operator who acts on a job of the file.
    pub(super) fn operator(self: &Arc<Self>, job: &str) -> Operator {
        self.operator_of(Arc::clone(self.bench.spec(job)).into())
    }

    /// Returns an operator who acts on a job that the file does not name.
    pub(super) fn operator_of_absent(self: &Arc<Self>, job: &str) -> Operator {
        let name = JobName::parse(job).expect("a name");
        self.operator_of(KnownJob { name, definition: Definition::Absent })
    }

    fn operator_of(self: &Arc<Self>, job: KnownJob) -> Operator {
        let store: Arc<dyn Store> = Arc::<Self>::clone(self);
        Operator { store, job, by: "ann@db1".to_owned() }
    }

    /// Lets the store answer no more, or again.
    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// Returns the record of the job.
    pub(super) async fn record(&self, job: &str) -> Record {
        let record = self.bench.store.record_of(&self.bench.spec(job).name).await.expect("answers");
        record.expect("it is open")
    }

    /// Takes the order of a job, as a replica does, with this number as the run.
    pub(super) async fn take(&self, job: &str, order: RunId, run: u8) {
        let spec = self.bench.spec(job);
        let manual = Manual {
            caller: self.bench.caller("n1").await,
            run: run_id(run),
            tick: Tick(self.bench.now()),
            asked: self.bench.now(),
            order: Some(order),
            lease: spec.lease,
            overlap: Overlap::Skip,
            rerun_deadline: None,
        };
        let reply = self.bench.store.submit(&spec.name, &Request::Manual(manual)).await.expect("answers");
        assert!(matches!(reply.answer, Answer::Won { .. }), "{reply:?}");
    }

    fn while_up<'a, T: Send + 'a>(&self, answer: Answered<'a, T>) -> Answered<'a, T> {
        if self.is_away.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(StoreError::NotSent("no answer".into()))));
        }
        answer
    }
}

impl Store for BenchStore {
    fn ready(&self) -> Answered<'_, ()> {
        self.while_up(self.bench.store.ready())
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        let is_late = |late: u32| late.checked_sub(1);
        if self.late.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_late).is_ok() {
            let now = self.bench.now();
            let reply = testing::reply(now, Answer::Unsynced);
            return self.while_up(Box::pin(std::future::ready(Ok(reply))));
        }
        self.acts.fetch_add(1, Ordering::Relaxed);
        self.while_up(self.bench.store.submit(job, request))
    }

    fn submit_all<'a>(&'a self, _: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        unreachable!("operators send one request at a time")
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        self.while_up(self.bench.store.pulse(beat))
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        self.notices.fetch_add(1, Ordering::Relaxed);
        self.while_up(self.bench.store.announce(job))
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        unreachable!("operators listen to no hints")
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        self.while_up(self.bench.store.known(jobs))
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        self.while_up(self.bench.store.jobs())
    }

    fn enroll<'a>(&'a self, _: &'a [JobName]) -> Answered<'a, ()> {
        unreachable!("operators enroll no jobs")
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        self.while_up(self.bench.store.records(jobs))
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        self.while_up(self.bench.store.history(jobs, newest))
    }

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        self.while_up(self.bench.store.append(feed, text))
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        self.while_up(self.bench.store.newest(feed, after, count))
    }

    fn leave<'a>(&'a self, _: &'a Slip, _: &'a str, _: Duration) -> Answered<'a, ()> {
        unreachable!("operators leave no slips")
    }

    fn collect<'a>(&'a self, _: &'a Slip) -> Answered<'a, Vec<String>> {
        unreachable!("operators collect no slips")
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        unreachable!("operators wait for no wakes")
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        unreachable!("operators look at no settings")
    }

    fn label(&self) -> String {
        "redis://bench".to_owned()
    }
}

/// Returns the entry of a run of the job.
pub(super) async fn entry_of(operator: &Operator, run: u8) -> HistoryEntry {
    operator.entry(run_id(run)).await.expect("answers").expect("it has ended")
}

/// Lets time pass for everything that waits. The store of a bench has a thread of its own, for which a clock
/// that stands still must not run ahead.
pub(super) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
