//! A claim whose answer comes when its run could not end in time any more, because the machine slept or the process was
//! stopped meanwhile, or when its job was edited: nothing is started under it, and the tick is given back, and claimed anew
//! if it still is one. The clock is the test's own; the replica, its store and its job are real.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use solocron::clock::{Clock, SystemClock, Waiting, Woke};
use solocron::config::{Config, Overrides, Source, load};
use solocron::job::{ClusterName, JobName, NodeName, Outcome, Reason, UtcMillis, Verdict};
use solocron::lease::{Answer, BootInstant, Record, Reply, Request};
use solocron::replica::{Event, Events, Job, Ledger, Reload, Replica, Stop};
use solocron::run::{Guards, JobOutput, LogRetention, RunLogs};
use solocron::store::{Answered, Beat, Concern, Hint, JobEntries, LocalStore, Pulse, Replied, Store};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, oneshot};

/// Nothing here takes longer than this, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The wall clock shows this when the test starts: some seconds before noon, so that the record is open by then.
const BEGUN: UtcMillis = UtcMillis(1_767_268_800_000 - 4_000);

/// Longer than the lease, and shorter than the start deadline.
const SLEPT: Duration = Duration::from_secs(60);

const RETENTION: LogRetention = LogRetention { keep: DEADLINE, keep_runs: 10, max_bytes: 1 << 20 };

const JOBS: &str = r#"
cluster = { store = "local" }
jobs.noon = { schedule = "0 12 * * *", lease = "5s", start_deadline = "30m", shell = "echo ran >> \"$RAN\"" }
"#;

/// The machine's own pace; sleep is added to both clocks, as they count it.
#[derive(Debug, Clone)]
struct SleepyClock {
    begun: BootInstant,
    slept_ms: Arc<AtomicU64>,
}

impl Clock for SleepyClock {
    fn utc(&self) -> UtcMillis {
        BEGUN.plus(self.boot().since(self.begun))
    }

    fn boot(&self) -> BootInstant {
        SystemClock.boot().plus(Duration::from_millis(self.slept_ms.load(Ordering::SeqCst)))
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        Box::pin(async move {
            tokio::time::sleep(at.since(self.utc())).await;
            Woke::Due
        })
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(at.since(self.boot())))
    }
}

/// What happens while the first grant is on the way back.
#[derive(Debug)]
enum OnTheWay {
    /// The machine sleeps.
    Sleep,
    /// The test does something.
    Hold { reached: Notify, pass: Notify },
}

/// A store whose first grant takes its time to come back.
#[derive(Debug)]
struct SleptThrough {
    store: LocalStore,
    clock: SleepyClock,
    has_slept: AtomicBool,
    on_the_way: OnTheWay,
}

impl Store for SleptThrough {
    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let reply = self.store.submit(job, request).await?;
            if matches!(reply.answer, Answer::Won { .. }) && !self.has_slept.swap(true, Ordering::SeqCst) {
                match &self.on_the_way {
                    OnTheWay::Sleep => {
                        let slept_ms = u64::try_from(SLEPT.as_millis()).expect("a minute");
                        self.clock.slept_ms.fetch_add(slept_ms, Ordering::SeqCst);
                    }
                    OnTheWay::Hold { reached, pass } => {
                        reached.notify_one();
                        pass.notified().await;
                    }
                }
            }
            Ok(reply)
        })
    }

    fn ready(&self) -> Answered<'_, ()> {
        self.store.ready()
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        self.store.submit_all(requests)
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        self.store.pulse(beat)
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        self.store.announce(job)
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        self.store.known(jobs)
    }

    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()> {
        self.store.enroll(jobs)
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        self.store.records(jobs)
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        self.store.history(jobs, newest)
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        self.store.hints()
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        self.store.inspect()
    }

    fn label(&self) -> String {
        self.store.label()
    }
}

/// A store in this folder.
fn store_in(folder: &Path, on_the_way: OnTheWay) -> Arc<SleptThrough> {
    let clock = SleepyClock { begun: SystemClock.boot(), slept_ms: Arc::default() };
    let cluster = ClusterName::parse("test").expect("a name");
    let store = LocalStore::start(&folder.join("store.db"), cluster, Box::new(clock.clone()));
    let store = store.expect("a boot id");
    Arc::new(SleptThrough { store, clock, has_slept: AtomicBool::new(false), on_the_way })
}

/// The file with these jobs, and the jobs.
fn loaded(folder: &Path, text: &str) -> (Config, BTreeMap<JobName, Job>) {
    let source = Source { path: "jobs.toml".into(), text: text.to_owned() };
    let (config, _) = load(&source, &Overrides::default(), &|_| None).expect("a good file");
    let ran = folder.join("ran").display().to_string();
    let jobs = config.jobs.iter().map(|(name, spec)| {
        let env = BTreeMap::from([("RAN".to_owned(), ran.clone())]);
        (name.clone(), Job { spec: Arc::clone(spec), env })
    });
    let jobs = jobs.collect();
    (config, jobs)
}

fn replica(folder: &Path, store: &Arc<SleptThrough>, events: &Events) -> Replica {
    let (config, jobs) = loaded(folder, JOBS);
    let (node, now) = (NodeName::parse("n1").expect("a name"), store.clock.clone());
    Replica {
        guards: Arc::new(Guards::made_by(env!("CARGO_BIN_EXE_solocron"))),
        jobs,
        file: config.fingerprint.clone(),
        labels: Vec::new(),
        max_running: None,
        expected_replicas: None,
        drain: DEADLINE,
        ledger: Ledger::new(folder, &config.cluster, &node, store.label()),
        node,
        store: Arc::clone(store) as Arc<dyn Store>,
        clock: Arc::new(store.clock.clone()),
        logs: RunLogs::new(folder, Arc::new(move || now.utc())),
        retention: RETENTION,
        output: JobOutput::File,
        events: events.clone(),
        alive: None,
        reloads: None,
    }
}

#[tokio::test]
async fn a_grant_that_is_heard_of_past_its_deadline_starts_nothing_and_its_tick_runs_once_under_another() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let store = store_in(folder.path(), OnTheWay::Sleep);
    let events = Events::of(NodeName::parse("n1").expect("a name"));
    let (mut heard, stop) = (events.listen(), Stop::default());
    let running = tokio::spawn(replica(folder.path(), &store, &events).run(stop.clone()));

    let mut given_back = Vec::new();
    let ended = tokio::time::timeout(DEADLINE, async {
        loop {
            match &*heard.recv().await.expect("the replica goes on") {
                Event::ClaimAbandoned { run, .. } => given_back.push(*run),
                Event::RunEnded { run, verdict, .. } => return (run.clone(), *verdict),
                _ => {}
            }
        }
    });
    let (run, verdict) = ended.await.expect("in time");

    assert_eq!(given_back.len(), 1, "the first grant came too late");
    assert_ne!(run.run, given_back[0]);
    assert_eq!(run.tick.instant(), BEGUN.plus(Duration::from_secs(4)));
    assert_eq!(verdict.outcome, Outcome::Succeeded);
    assert_eq!(std::fs::read_to_string(folder.path().join("ran")).expect("it ran"), "ran\n");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
    let job = [JobName::parse("noon").expect("a name")];
    let entries = store.history(&job, 10).await.expect("history").remove(0).1;
    assert!(matches!(&entries[..], [one] if one.run == Some(run.run)), "{entries:?}");
}

/// Loads this file while the first grant is on the way back, and gives back what the store has of the job once an event
/// is there that `is_last`, and what the job wrote.
async fn load_during_the_claim(text: &str, is_last: impl Fn(&Event) -> bool) -> (Record, usize, String) {
    let folder = TempDir::new().expect("a folder for temporary files");
    let store = store_in(folder.path(), OnTheWay::Hold { reached: Notify::new(), pass: Notify::new() });
    let OnTheWay::Hold { reached, pass } = &store.on_the_way else { unreachable!("it was made so") };
    let events = Events::of(NodeName::parse("n1").expect("a name"));
    let (mut heard, stop) = (events.listen(), Stop::default());
    let (reloads, to_load) = mpsc::channel(1);
    let replica = Replica { reloads: Some(to_load), ..replica(folder.path(), &store, &events) };
    let running = tokio::spawn(replica.run(stop.clone()));

    let played = tokio::time::timeout(DEADLINE, async {
        reached.notified().await;
        let (config, jobs) = loaded(folder.path(), text);
        let (done, is_done) = oneshot::channel();
        let file = config.fingerprint;
        let reload = Reload {
            jobs,
            file,
            expected_replicas: None,
            drain: DEADLINE,
            labels: Vec::new(),
            max_running: None,
            retention: RETENTION,
            done,
        };
        reloads.send(reload).await.expect("the replica listens");
        is_done.await.expect("it takes the file over");
        pass.notify_one();
        let mut given_back = 0;
        loop {
            let event = heard.recv().await.expect("the replica goes on");
            given_back += usize::from(matches!(*event, Event::ClaimAbandoned { .. }));
            if is_last(&event) {
                return given_back;
            }
        }
    });
    let given_back = played.await.expect("in time");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
    let job = [JobName::parse("noon").expect("a name")];
    let record = store.records(&job).await.expect("a record").remove(0).expect("it was opened");
    (record, given_back, std::fs::read_to_string(folder.path().join("ran")).unwrap_or_default())
}

#[tokio::test]
async fn a_grant_to_a_job_that_was_edited_meanwhile_starts_nothing_and_its_tick_runs_once_by_the_new_definition()
 {
    let edited = JOBS.replace("echo ran", "echo edited").replace("\"5s\"", "\"60s\"");
    let is_last = |event: &Event| matches!(event, Event::RunRecorded { .. });
    let (record, given_back, ran) = load_during_the_claim(&edited, is_last).await;
    assert_eq!((given_back, ran.as_str()), (1, "edited\n"));
    assert_eq!(
        record.lease,
        Duration::from_secs(60),
        "the lock was granted for the lease that its run goes by"
    );
}

#[tokio::test]
async fn a_grant_to_a_job_that_is_not_scheduled_so_any_more_is_given_back_and_nothing_runs() {
    let removed = "cluster = { store = \"local\" }\n".to_owned();
    let disabled = JOBS.replace("lease =", "enabled = false, lease =");
    let rescheduled = JOBS.replace("0 12 * * *", "30 12 * * *");
    for text in [removed, disabled, rescheduled] {
        let is_last = |event: &Event| matches!(event, Event::ClaimAbandoned { .. });
        let (record, given_back, ran) = load_during_the_claim(&text, is_last).await;
        assert_eq!((given_back, ran.as_str()), (1, ""), "{text}");
        assert!(!record.is_running(), "the lock is free: {text}");
        let missed = Verdict::because(Outcome::Missed, Reason::Edited);
        assert_eq!(record.last, Some(missed), "it is told of: {text}");
    }
}
