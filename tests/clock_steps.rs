//! A replica whose wall clock is stepped while it waits: it plans anew, runs what is due by the new time, and nothing
//! twice. The clock is the test's own; the replica, its store and its jobs are real.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use solocron::config::LogRetention;
use solocron::config::{Overrides, Source, load};
use solocron::events::{Event, Events, StoreChange};
use solocron::hold::{LeaseFile, Stop};
use solocron::job::{ClusterName, NodeName, Tick};
use solocron::replica::Replica;
use solocron::run::{Guards, Job, JobOutput, RunLogs};
use solocron::store::{LocalStore, Store};
use solocron::time::{BootInstant, UtcMillis};
use solocron::time::{Clock, SystemClock, Waiting, Woke};
use tempfile::TempDir;
use tokio::sync::{Notify, broadcast};

/// Nothing here takes longer than this, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The wall clock shows this when the test starts: ten seconds before noon.
const BEGUN: UtcMillis = UtcMillis(1_767_268_790_000);
const NOON: Tick = Tick(UtcMillis(BEGUN.0 + 10_000));

/// One job that shows when the replica is at work, and the one that the test is about.
const JOBS: &str = r#"
cluster = { store = "local" }
jobs.warm-up = { schedule = "* * * * * *", command = ["true"] }
jobs.hourly = { schedule = "@hourly", command = ["true"] }
"#;

/// The machine's own pace, with a wall clock that the test steps.
#[derive(Debug, Clone)]
struct SteppedClock {
    begun: BootInstant,
    stepped_ms: Arc<AtomicI64>,
    /// By how many millionths it runs faster than the machine.
    faster_ppm: u32,
    steps: Arc<Notify>,
    /// Whether waits are told of steps, as a kernel's timer nearly always does.
    tells: bool,
}

impl SteppedClock {
    fn new(tells: bool) -> Self {
        Self {
            begun: SystemClock.boot(),
            stepped_ms: Arc::default(),
            faster_ppm: 0,
            steps: Arc::default(),
            tells,
        }
    }

    fn faster_by(faster_ppm: u32) -> Self {
        Self { faster_ppm, ..Self::new(true) }
    }

    fn step(&self, by_ms: i64) {
        self.stepped_ms.fetch_add(by_ms, Ordering::SeqCst);
        if self.tells {
            self.steps.notify_waiters();
        }
    }
}

impl Clock for SteppedClock {
    fn utc(&self) -> UtcMillis {
        let passed = SystemClock.boot().since(self.begun);
        let passed = BEGUN.plus(passed + passed * self.faster_ppm / 1_000_000);
        UtcMillis(passed.0 + self.stepped_ms.load(Ordering::SeqCst))
    }

    fn boot(&self) -> BootInstant {
        SystemClock.boot()
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        Box::pin(async move {
            tokio::select! {
                () = self.steps.notified() => Woke::Stepped,
                () = tokio::time::sleep(at.since(self.utc())) => Woke::Due,
            }
        })
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(at.since(self.boot())))
    }
}

fn node() -> NodeName {
    NodeName::parse("n1").expect("a name")
}

fn replica(folder: &Path, clock: &SteppedClock, events: &Events) -> Replica {
    replica_beside(folder, clock, clock, events)
}

/// A replica whose store has a clock of its own.
fn replica_beside(folder: &Path, of_store: &SteppedClock, clock: &SteppedClock, events: &Events) -> Replica {
    let source = Source::new("jobs.toml", JOBS);
    let (config, _) = load(&source, &Overrides::default(), &|_| None).expect("a good file");
    let jobs = config.jobs.iter().map(|(name, spec)| {
        let job = Job { spec: Arc::clone(spec), env: BTreeMap::new(), withheld: Arc::default() };
        (name.clone(), job)
    });
    let cluster = ClusterName::parse("test").expect("a name");
    let store =
        LocalStore::start(&folder.join("store.db"), cluster, Box::new(of_store.clone())).expect("a boot id");
    let now = clock.clone();
    Replica {
        guards: Arc::new(Guards::made_by(env!("CARGO_BIN_EXE_solocron"))),
        node: node(),
        jobs: jobs.collect(),
        file: config.fingerprint.clone(),
        labels: Vec::new(),
        max_running: None,
        expected_replicas: None,
        drain: DEADLINE,
        lease_file: LeaseFile::new(
            folder,
            &ClusterName::parse("test").expect("a name"),
            &node(),
            store.label(),
        ),
        store: Arc::new(store),
        clock: Arc::new(clock.clone()),
        logs: RunLogs::new(folder, Arc::new(move || now.utc())),
        retention: LogRetention { keep: DEADLINE, keep_runs: 10, max_bytes: 1 << 20 },
        output: JobOutput::File,
        events: events.clone(),
        facts: tokio::sync::watch::Sender::default(),
        alive: None,
        reloads: None,
    }
}

async fn wait_for(
    events: &mut broadcast::Receiver<Arc<Event>>,
    is_it: impl Fn(&Event) -> bool,
) -> Arc<Event> {
    let waiting = async {
        loop {
            let event = events.recv().await.expect("the replica goes on");
            if is_it(&event) {
                return event;
            }
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("in time")
}

fn ended_tick(event: &Event, job: &str) -> Option<Tick> {
    match event {
        Event::RunEnded { run, .. } if run.job.as_str() == job => Some(run.tick),
        _ => None,
    }
}

#[tokio::test]
async fn a_stepped_wall_clock_is_planned_by_anew_and_repeats_no_tick() {
    plan_by(&SteppedClock::new(true)).await;
}

/// The store goes by the same clock, so that the two never differ.
#[tokio::test]
async fn a_step_that_no_timer_tells_of_is_noticed_by_the_boot_clock() {
    plan_by(&SteppedClock::new(false)).await;
}

async fn plan_by(clock: &SteppedClock) {
    let folder = TempDir::new().expect("a folder for temporary files");
    let stop = Stop::default();
    let events = Events::of(node());
    let mut heard = events.listen();
    let running = tokio::spawn(replica(folder.path(), clock, &events).run(stop.clone()));
    wait_for(&mut heard, |event| ended_tick(event, "warm-up").is_some()).await;

    // Forward over noon: the tick is due at once, and runs.
    clock.step(60_000);
    wait_for(&mut heard, |event| *event == Event::ClockStepped).await;
    let ended = wait_for(&mut heard, |event| ended_tick(event, "hourly").is_some()).await;
    assert_eq!(ended_tick(&ended, "hourly"), Some(NOON));

    // Back before noon, and past it again: the tick is decided, whatever the clock says.
    clock.step(-60_000);
    wait_for(&mut heard, |event| *event == Event::ClockStepped).await;
    clock.step(3_606_000);
    let ended = wait_for(&mut heard, |event| ended_tick(event, "hourly").is_some()).await;
    assert_eq!(
        ended_tick(&ended, "hourly"),
        Some(Tick(UtcMillis(NOON.as_millis() + 3_600_000))),
        "one o'clock is next"
    );

    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
}

#[tokio::test]
async fn a_store_whose_clock_is_slewed_is_told_of_by_each_heartbeat() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let (slewed, clock, stop) = (SteppedClock::faster_by(83_333), SteppedClock::new(true), Stop::default());
    let events = Events::of(node());
    let mut heard = events.listen();
    let replica = replica_beside(folder.path(), &slewed, &clock, &events);
    let store = Arc::clone(&replica.store);
    let running = tokio::spawn(replica.run(stop.clone()));

    wait_for(&mut heard, |event| matches!(event, Event::StoreChanged { what: StoreChange::ClockSlewed }))
        .await;
    let told = async {
        loop {
            let peers = store.pulse(None).await.expect("answers").peers;
            if let Some(told) = peers.iter().find_map(|peer| peer.beat.slewed) {
                return told;
            }
            wait_for(&mut heard, |event| ended_tick(event, "warm-up").is_some()).await;
        }
    };
    let told = tokio::time::timeout(DEADLINE, told).await.expect("in time");

    assert!(told.faster_ppm.abs_diff(83_333) < 20_000, "{told:?}");
    assert!(told.since >= BEGUN && told.since <= slewed.utc(), "{told:?}");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
}
