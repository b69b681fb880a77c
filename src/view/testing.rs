//! A cluster in its own folder, with a clock that only tests move. Its store is filled through the protocol, as replicas do
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::config::Config;
use crate::config::testing::config;
use crate::job::{
    Cause, Fence, JobName, JobSpec, NodeName, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick, Verdict,
};
use crate::lease::testing;
use crate::lease::{
    Answer, Caller, Claim, Finish, Lease, LiveRuns, Manual, Open, Renew, Request, ScheduleHash,
};
use crate::store::{Beat, BeatRun, LocalStore, StageTimes, Store};
use crate::time::{BootInstant, Clock, UtcMillis, Waiting};

use super::expected::Expected;
use super::job::KnownJob;

/// 2026-11-20T12:00:00Z, a Friday.
pub(crate) const NOON: i64 = 1_795_176_000_000;

/// Three jobs, one of them not enabled.
pub(crate) const FILE: &str = r#"
[cluster]
name = "billing"
store = "local"
replicas = 2

[jobs.backup]
schedule = "*/5 * * * *"
timezone = "Europe/Berlin"
command = ["backup"]

[jobs.payout]
schedule = "0 * * * *"
command = ["payout"]

[jobs.retired]
schedule = "0 0 * * *"
command = ["retired"]
enabled = false
"#;

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
struct Hands(Arc<AtomicI64>);

impl Clock for Hands {
    fn utc(&self) -> UtcMillis {
        UtcMillis(self.0.load(Ordering::Relaxed))
    }

    fn boot(&self) -> BootInstant {
        BootInstant(Duration::from_millis(self.utc().0.unsigned_abs()))
    }

    fn wait_until(&self, _: UtcMillis) -> Waiting<'_> {
        Box::pin(std::future::pending())
    }

    fn wait_until_boot(&self, _: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// The cluster.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) config: Config,
    pub(crate) store: LocalStore,
    clock: Hands,
}

/// The run with this number.
pub(crate) fn run_id(number: u8) -> RunId {
    format!("01939d2c-0000-7000-8000-0000000000{number:02}").parse().expect("an id")
}

pub(crate) fn node(name: &str) -> NodeName {
    NodeName::parse(name).expect("a name")
}

impl Bench {
    /// Returns a cluster with this file at noon. No job is opened yet.
    pub(crate) async fn new(file: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = config(file);
        let clock = Hands(Arc::new(AtomicI64::new(NOON)));
        let path = folder.path().join("store.sqlite3");
        let store = LocalStore::start(&path, config.cluster.clone(), Box::new(clock.clone()));
        let store = store.expect("a machine with a boot id");
        store.ready().await.expect("a file of its own");
        Self { folder, store, config, clock }
    }

    /// The store once more, as another process opens it.
    pub(crate) fn store_again(&self) -> LocalStore {
        let path = self.folder.path().join("store.sqlite3");
        let store = LocalStore::start(&path, self.config.cluster.clone(), Box::new(self.clock.clone()));
        store.expect("a machine with a boot id")
    }

    pub(crate) fn now(&self) -> UtcMillis {
        self.clock.utc()
    }

    /// Moves the clock to this many seconds after noon.
    pub(crate) fn at(&self, seconds: i64) {
        self.clock.0.store(NOON + seconds * 1_000, Ordering::Relaxed);
    }

    /// The jobs of the file, as commands find them.
    pub(crate) fn jobs(&self) -> Vec<KnownJob> {
        self.config.jobs.values().cloned().map(KnownJob::from).collect()
    }

    pub(crate) fn expected(&self) -> Expected<'_> {
        let Config { expected_replicas, fingerprint, .. } = &self.config;
        Expected { replicas: *expected_replicas, file: Some(fingerprint), flaw: None }
    }

    pub(crate) fn spec(&self, job: &str) -> &Arc<JobSpec> {
        &self.config.jobs[&JobName::parse(job).expect("a name")]
    }

    pub(crate) async fn caller(&self, node: &str) -> Caller {
        let pulse = self.store.pulse(None).await.expect("answers");
        Caller { calm: Duration::MAX, ..testing::caller(node, pulse.now, pulse.era) }
    }

    async fn submit(&self, job: &str, request: Request) -> Answer {
        let job = &self.spec(job).name;
        self.store.submit(job, &request).await.expect("answers").answer
    }

    fn sched(&self, job: &str) -> ScheduleHash {
        ScheduleHash(self.spec(job).schedule.fingerprint().to_owned())
    }

    /// Opens a job's record, as a replica does.
    pub(crate) async fn open(&self, job: &str) {
        let (caller, spec) = (self.caller("n1").await, self.spec(job));
        let (sched, lease) = (self.sched(job), spec.lease);
        let open = Open { schedule_hash: sched, ..Open::by_exec(caller, lease, UtcMillis(0)) };
        let answer = self.submit(job, Request::Open(open)).await;
        assert!(matches!(answer, Answer::Opened { .. }), "{answer:?}");
    }

    /// Claims the tick this many seconds after noon, as a replica does.
    pub(crate) async fn claim(&self, job: &str, node: &str, run: u8, tick: i64) -> Answer {
        let (caller, spec) = (self.caller(node).await, self.spec(job));
        let tick = Tick::at_millis(NOON + tick * 1_000);
        let claim = Claim {
            caller,
            run: run_id(run),
            tick,
            prev: spec.schedule.at_or_before(UtcMillis(tick.as_millis() - 1)),
            gap: None,
            gap_reason: Reason::NoReplica,
            schedule_hash: self.sched(job),
            lease: spec.lease,
            start_deadline: spec.start_deadline_of(tick),
            overlap: Overlap::Skip,
            on_interrupt: OnInterrupt::Skip,
            catch_up: false,
            wall: self.now(),
            unfit: None,
            live_runs: LiveRuns::default(),
        };
        self.submit(job, Request::Claim(claim)).await
    }

    /// Claims the tick, and expects the grant.
    pub(crate) async fn win(&self, job: &str, node: &str, run: u8, tick: i64) -> Lease {
        let answer = self.claim(job, node, run, tick).await;
        let Answer::Won { fence, tries, started } = answer else { panic!("{answer:?}") };
        Lease {
            run: run_id(run),
            fence,
            tick: Tick::at_millis(NOON + tick * 1_000),
            length: self.spec(job).lease,
            node: self::node(node),
            cause: Cause::Schedule,
            tries,
            started,
            schedule_hash: self.sched(job),
            mark: UtcMillis(NOON + tick * 1_000),
            prev: None,
        }
    }

    /// Runs a job by hand, for now, to its end.
    pub(crate) async fn run_by_hand(&self, job: &str, node: &str, run: u8) {
        let (caller, length) = (self.caller(node).await, self.spec(job).lease);
        let (now, schedule_hash) = (self.now(), self.sched(job));
        let manual = Manual {
            caller,
            run: run_id(run),
            tick: Tick(now),
            asked: now,
            order: None,
            lease: length,
            overlap: Overlap::Skip,
            rerun_deadline: None,
        };
        let answer = self.submit(job, Request::Manual(manual)).await;
        let Answer::Won { fence, tries, started } = answer else { panic!("{answer:?}") };
        let (run, tick, cause, node) = (run_id(run), Tick(now), Cause::Manual, self::node(node));
        let mark = UtcMillis(0);
        let lease =
            Lease { run, fence, tick, length, node, cause, tries, started, schedule_hash, mark, prev: None };
        self.finish(job, lease, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    }

    /// Renews the lock of a run.
    pub(crate) async fn renew(&self, job: &str, lease: &Lease) {
        let renew = Renew { lease: lease.clone(), expect: self.now(), leapt: None };
        let answer = self.submit(job, Request::Renew(renew)).await;
        assert!(matches!(answer, Answer::Renewed { .. }), "{answer:?}");
    }

    /// Finishes a run with this verdict.
    pub(crate) async fn finish(&self, job: &str, lease: Lease, verdict: Verdict, exit_code: Option<i32>) {
        let tail = format!("the end of run {}\n", lease.run);
        let era = self.store.pulse(None).await.expect("answers").era;
        let ended = self.now();
        let finish =
            Finish { lease, era, attempt: 1, verdict, ended, exit_code, signal: None, tail, leapt: None };
        let answer = self.submit(job, Request::Finish(finish)).await;
        assert_eq!(answer, Answer::Finished);
    }

    /// Sends a heartbeat of a replica that loaded this file.
    pub(crate) async fn beat(&self, name: &str, file: &str, running: &[(&str, u8)]) {
        self.beat_as(Beat {
            node: node(name),
            life: run_id(90),
            version: "0.1.0".into(),
            file: file.to_owned(),
            started: UtcMillis(NOON - 7_200_000),
            draining: false,
            running: running
                .iter()
                .map(|(job, run)| BeatRun {
                    job: self.spec(job).name.clone(),
                    run: run_id(*run),
                    lease_ms: 0,
                    end: None,
                })
                .collect(),
            labels: Vec::new(),
            full: false,
            name_taken: false,
            ahead_ms: None,
            slewed: None,
            stages: vec![StageTimes { stage: "late".into(), p50_us: 2_100, p99_us: 15_900 }],
            largest_fence: Fence(0),
            count: 0,
            told: None,
        })
        .await;
    }

    /// Sends this heartbeat.
    pub(crate) async fn beat_as(&self, beat: Beat) {
        self.store.pulse(Some(&beat)).await.expect("answers");
    }
}
