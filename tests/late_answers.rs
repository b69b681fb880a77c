//! A claim whose answer comes when its run could not end in time any more, because the machine slept or the process was
//! stopped meanwhile, or when its job was edited: nothing is started under it, and the tick is given back, and claimed anew
//! if it still is one. What is granted ahead of its instant begins at it. The clock is the test's own; the replica, its
//! store and its job are real.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use solocron::config::LogRetention;
use solocron::config::{Config, Overrides, Source, load};
use solocron::events::{Event, Events};
use solocron::hold::{LeaseFile, Stop};
use solocron::job::{ClusterName, JobName, NodeName, Outcome, Reason, Verdict};
use solocron::lease::{Act, Answer, HistoryEntry, Operate, Record, Reply, Request};
use solocron::replica::{LoadedFile, Reload, Replica};
use solocron::run::{Guards, Job, JobOutput, RunLogs};
use solocron::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, LocalStore, Pulse, Replied, Slip,
    Store, Wake,
};
use solocron::time::{BootInstant, UtcMillis};
use solocron::time::{Clock, SystemClock, Waiting, Woke};
use tempfile::TempDir;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

/// Nothing here takes longer than this, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The wall clock shows this when the test starts: some seconds before noon, so that the record is open by then.
const BEGUN: UtcMillis = UtcMillis(NOON.0 - 7_000);

/// From then until time stands still, if it does: after the tick was asked for ahead of its instant, and before that.
const UNTIL_IT_STANDS: Duration = Duration::from_millis(7_000 - 10);

/// Longer than the lease, and shorter than the start deadline.
const SLEPT: Duration = Duration::from_secs(60);

const RETENTION: LogRetention = LogRetention { keep: DEADLINE, keep_runs: 10, max_bytes: 1 << 20 };

const JOBS: &str = r#"
cluster = { store = "local" }
jobs.noon = { schedule = "0 12 * * *", lease = "5s", start_deadline = "30m", shell = "echo ran >> \"$RAN\"" }
"#;

/// When the job's tick comes.
const NOON: UtcMillis = UtcMillis(1_767_268_800_000);

/// The machine's own pace; sleep is added to both clocks, as they count it. Time may stand still for a while.
#[derive(Debug, Clone)]
struct SleepyClock {
    begun: BootInstant,
    slept_ms: Arc<AtomicU64>,
    stands: Arc<Mutex<Stands>>,
}

/// When time stands still, if it is to, and for how long it has.
#[derive(Debug)]
struct Stands {
    at: Option<BootInstant>,
    stood: Duration,
}

impl SleepyClock {
    fn go_on(&self) {
        let mut stands = self.stands.lock().expect("nobody panics");
        let at = stands.at.take().expect("it stands");
        stands.stood = SystemClock.boot().since(at);
    }
}

impl Clock for SleepyClock {
    fn utc(&self) -> UtcMillis {
        BEGUN.plus(self.boot().since(self.begun))
    }

    fn boot(&self) -> BootInstant {
        let stands = self.stands.lock().expect("nobody panics");
        let now = BootInstant(SystemClock.boot().0 - stands.stood);
        let slept = Duration::from_millis(self.slept_ms.load(Ordering::SeqCst));
        stands.at.map_or(now, |at| now.min(at)).plus(slept)
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
    /// Nothing; but time stands still right before noon.
    Stand,
    /// The same, and the test does something.
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
                    OnTheWay::Stand => {}
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

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        self.store.jobs()
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

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        self.store.append(feed, text)
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        self.store.newest(feed, after, count)
    }

    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()> {
        self.store.leave(slip, text, ttl)
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        self.store.collect(slip)
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        self.store.wakes()
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
    let begun = SystemClock.boot();
    let at = (!matches!(on_the_way, OnTheWay::Sleep)).then(|| begun.plus(UNTIL_IT_STANDS));
    let stands = Arc::new(Mutex::new(Stands { at, stood: Duration::ZERO }));
    let clock = SleepyClock { begun, slept_ms: Arc::default(), stands };
    let cluster = ClusterName::parse("test").expect("a name");
    let store = LocalStore::start(&folder.join("store.db"), cluster, Box::new(clock.clone()));
    let store = store.expect("a boot id");
    Arc::new(SleptThrough { store, clock, has_slept: AtomicBool::new(false), on_the_way })
}

/// The file with these jobs, and the jobs.
fn loaded(folder: &Path, text: &str) -> (Config, BTreeMap<JobName, Job>) {
    let source = Source::new("jobs.toml", text);
    let (config, _) = load(&source, &Overrides::default(), &|_| None).expect("a good file");
    let ran = folder.join("ran").display().to_string();
    let jobs = config.jobs.iter().map(|(name, spec)| {
        let env = BTreeMap::from([("RAN".to_owned(), ran.clone())]);
        (name.clone(), Job { spec: Arc::clone(spec), env, withheld: Arc::default() })
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
        lease_file: LeaseFile::new(folder, &config.cluster, &node, store.label()),
        node,
        store: Arc::clone(store) as Arc<dyn Store>,
        clock: Arc::new(store.clock.clone()),
        logs: RunLogs::new(folder, Arc::new(move || now.utc())),
        retention: RETENTION,
        output: JobOutput::File,
        events: events.clone(),
        facts: tokio::sync::watch::Sender::default(),
        alive: None,
        reloads: None,
    }
}

#[tokio::test]
async fn a_grant_received_past_its_deadline_starts_nothing_and_another_runs_the_tick() {
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
    assert_eq!(run.tick.instant(), NOON);
    assert_eq!(verdict.outcome, Outcome::Succeeded);
    assert_eq!(std::fs::read_to_string(folder.path().join("ran")).expect("it ran"), "ran\n");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
    let job = [JobName::parse("noon").expect("a name")];
    let entries = store.history(&job, 10).await.expect("history").remove(0).1;
    assert!(matches!(&entries[..], [one] if one.run == Some(run.run)), "{entries:?}");
}

#[tokio::test]
async fn a_grant_received_past_the_start_deadline_starts_nothing_though_its_lock_holds() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let store = store_in(folder.path(), OnTheWay::Sleep);
    let events = Events::of(NodeName::parse("n1").expect("a name"));
    let (mut heard, stop) = (events.listen(), Stop::default());
    let jobs = loaded(folder.path(), &JOBS.replace("\"5s\"", "\"10m\"").replace("\"30m\"", "\"2s\"")).1;
    let replica = Replica { jobs, ..replica(folder.path(), &store, &events) };
    let running = tokio::spawn(replica.run(stop.clone()));
    let told = tokio::time::timeout(DEADLINE, async {
        loop {
            match &*heard.recv().await.expect("the replica goes on") {
                Event::RunStarted { .. } => panic!("its start deadline is over"),
                Event::TickConsumed { .. } => return,
                _ => {}
            }
        }
    });
    told.await.expect("in time");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
    let job = [JobName::parse("noon").expect("a name")];
    let entries = store.history(&job, 10).await.expect("history").remove(0).1;
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert!(matches!(&entries[..], [one] if one.verdict() == late), "{entries:?}");
    assert!(!folder.path().join("ran").exists(), "nothing ran");
}

/// Time stands still before noon, with the tick granted ahead of its instant, and its run's sign put up.
struct BeforeNoon {
    folder: TempDir,
    store: Arc<SleptThrough>,
    heard: broadcast::Receiver<Arc<Event>>,
    stop: Stop,
    running: tokio::task::JoinHandle<()>,
}

impl BeforeNoon {
    async fn reach(jobs: &str) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let store = store_in(folder.path(), OnTheWay::Stand);
        let events = Events::of(NodeName::parse("n1").expect("a name"));
        let (mut heard, stop) = (events.listen(), Stop::default());
        let replica =
            Replica { jobs: loaded(folder.path(), jobs).1, ..replica(folder.path(), &store, &events) };
        let running = replica.run(stop.clone());
        let running = tokio::spawn(async move { running.await.expect("a good end") });
        let signs = || std::fs::read_dir(folder.path().join("runs/noon")).into_iter().flatten().flatten();
        let is_up = |file: std::fs::DirEntry| file.path().extension().is_some_and(|kind| kind == "running");
        let up = tokio::time::timeout(DEADLINE, async {
            while !signs().any(is_up) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        up.await.expect("in time");
        assert!(store.clock.utc() < NOON, "it was granted ahead of its instant");
        while let Ok(event) = heard.try_recv() {
            assert!(!matches!(*event, Event::RunStarted { .. }), "it is not noon yet");
        }
        Self { folder, store, heard, stop, running }
    }

    /// Time goes on, after the machine has slept for so long. Gives back how many runs were given up, and what the store and
    /// the job have written, once an event is there that `is_last`.
    async fn go_on(mut self, slept: Duration, is_last: impl Fn(&Event) -> bool) -> Played {
        let slept_ms = u64::try_from(slept.as_millis()).expect("short");
        self.store.clock.slept_ms.fetch_add(slept_ms, Ordering::SeqCst);
        self.store.clock.go_on();
        let mut given_up = 0;
        let played = tokio::time::timeout(DEADLINE, async {
            loop {
                let event = self.heard.recv().await.expect("the replica goes on");
                given_up += usize::from(is_given_back(&event));
                let begins = matches!(*event, Event::RunStarted { .. });
                assert!(!begins || self.store.clock.utc() >= NOON, "it begins too early");
                if is_last(&event) {
                    return;
                }
            }
        });
        played.await.expect("in time");
        self.stop.drain.cancel();
        self.running.await.expect("no panic");
        let job = [JobName::parse("noon").expect("a name")];
        let entries = self.store.history(&job, 10).await.expect("history").remove(0).1;
        let record = self.store.records(&job).await.expect("a record").remove(0).expect("it was opened");
        let ran = std::fs::read_to_string(self.folder.path().join("ran")).unwrap_or_default();
        Played { given_up, entries, record, ran }
    }
}

/// What comes of it.
struct Played {
    given_up: usize,
    entries: Vec<HistoryEntry>,
    record: Record,
    ran: String,
}

fn is_given_back(event: &Event) -> bool {
    matches!(event, Event::ClaimAbandoned { .. })
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::RunEnded { .. })
}

#[tokio::test]
async fn what_is_granted_ahead_of_its_instant_begins_at_it() {
    let Played { given_up, entries, ran, .. } =
        BeforeNoon::reach(JOBS).await.go_on(Duration::ZERO, is_end).await;
    assert_eq!((given_up, ran.as_str()), (0, "ran\n"));
    assert!(matches!(&entries[..], [one] if one.started == Some(NOON)), "{entries:?}");
}

#[tokio::test]
async fn after_a_sleep_before_the_instant_the_tick_runs_once_under_another_lock() {
    let Played { given_up, entries, ran, .. } = BeforeNoon::reach(JOBS).await.go_on(SLEPT, is_end).await;
    assert_eq!((given_up, ran.as_str()), (1, "ran\n"));
    let began_late = |one: &HistoryEntry| one.started.is_some_and(|started| started >= NOON.plus(SLEPT / 2));
    assert!(matches!(&entries[..], [one] if began_late(one)), "{entries:?}");
}

#[tokio::test]
async fn after_a_sleep_past_the_start_deadline_nothing_starts_though_the_lock_is_held() {
    let jobs = JOBS.replace("\"5s\"", "\"10m\"").replace("\"30m\"", "\"2s\"");
    let is_told = |event: &Event| matches!(event, Event::TickConsumed { .. });
    let Played { given_up, entries, ran, .. } = BeforeNoon::reach(&jobs).await.go_on(SLEPT, is_told).await;
    assert_eq!((given_up, ran.as_str()), (1, ""));
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert!(matches!(&entries[..], [one] if one.verdict() == late), "{entries:?}");
}

#[tokio::test]
async fn a_run_that_an_operator_kills_while_its_machine_sleeps_never_starts() {
    let before_noon = BeforeNoon::reach(&JOBS.replace("\"5s\"", "\"10m\"")).await;
    let (store, job) = (&before_noon.store, JobName::parse("noon").expect("a name"));
    let act = Act::Kill { run: None };
    let kill = Operate { expect: store.clock.utc(), by: "ann@db1".into(), act };
    let answer = store.submit(&job, &Request::Operate(kill)).await.expect("a store").answer;
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    let Played { entries, ran, .. } = before_noon.go_on(SLEPT, is_given_back).await;
    assert_eq!(ran, "");
    let killed = Verdict::because(Outcome::Killed, Reason::Operator);
    assert!(matches!(&entries[..], [one] if one.verdict() == killed), "{entries:?}");
}

#[tokio::test]
async fn who_drains_before_the_instant_leaves_the_tick_to_others() {
    let before_noon = BeforeNoon::reach(JOBS).await;
    before_noon.stop.drain.cancel();
    let played = before_noon.go_on(Duration::ZERO, is_given_back).await;
    assert_eq!((played.given_up, played.ran.as_str(), played.entries.len()), (1, "", 0));
    let record = played.record;
    assert!(!record.is_running() && record.mark < NOON, "anybody may claim it: {record:?}");
}

/// Loads this file while the first grant, ahead of its instant, is on the way back, and lets that come by then or not. Gives
/// back what the store has of the job once an event is there that `is_last`, and what the job wrote.
async fn load_during_the_claim(
    text: &str,
    comes: bool,
    is_last: impl Fn(&Event) -> bool,
) -> (Record, usize, String) {
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
        let file = LoadedFile {
            jobs,
            hash: config.fingerprint,
            expected_replicas: None,
            drain: DEADLINE,
            labels: Vec::new(),
            max_running: None,
            retention: RETENTION,
        };
        reloads.send(Reload { file, done }).await.expect("the replica listens");
        is_done.await.expect("it takes the file over");
        let granted = record_in(&store).await.run;
        if comes {
            store.clock.slept_ms.fetch_add(1_000, Ordering::SeqCst);
        }
        pass.notify_one();
        while record_in(&store).await.is_running() && record_in(&store).await.run == granted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        store.clock.go_on();
        let mut given_back = 0;
        loop {
            let event = heard.recv().await.expect("the replica goes on");
            given_back += usize::from(is_given_back(&event));
            if is_last(&event) {
                return given_back;
            }
        }
    });
    let given_back = played.await.expect("in time");
    stop.drain.cancel();
    running.await.expect("no panic").expect("a good end");
    let ran = std::fs::read_to_string(folder.path().join("ran")).unwrap_or_default();
    (record_in(&store).await, given_back, ran)
}

async fn record_in(store: &SleptThrough) -> Record {
    let job = [JobName::parse("noon").expect("a name")];
    store.records(&job).await.expect("a record").remove(0).expect("it was opened")
}

#[tokio::test]
async fn a_grant_to_an_edited_job_is_given_back_and_the_new_definition_runs_the_tick() {
    let edited = JOBS.replace("echo ran", "echo edited").replace("\"5s\"", "\"60s\"");
    let is_last = |event: &Event| matches!(event, Event::RunRecorded { .. });
    let (record, given_back, ran) = load_during_the_claim(&edited, false, is_last).await;
    assert_eq!((given_back, ran.as_str()), (1, "edited\n"));
    assert_eq!(
        record.lease,
        Duration::from_secs(60),
        "the lock was granted for the lease that its run goes by"
    );
}

/// Files that do not have the tick.
fn without_noon() -> [String; 3] {
    let removed = "cluster = { store = \"local\" }\n".to_owned();
    let disabled = JOBS.replace("lease =", "enabled = false, lease =");
    let rescheduled = JOBS.replace("0 12 * * *", "30 12 * * *");
    [removed, disabled, rescheduled]
}

#[tokio::test]
async fn a_grant_to_a_job_that_no_longer_has_the_tick_is_given_back_and_never_runs() {
    for text in without_noon() {
        let (record, given_back, ran) = load_during_the_claim(&text, true, is_given_back).await;
        assert_eq!((given_back, ran.as_str()), (1, ""), "{text}");
        assert!(!record.is_running(), "the lock is free: {text}");
        let missed = Verdict::because(Outcome::Missed, Reason::Edited);
        assert_eq!(record.verdict, Some(missed), "it is told of: {text}");
    }
}

#[tokio::test]
async fn a_tick_that_was_edited_away_before_its_instant_was_none() {
    for text in without_noon() {
        let (record, given_back, ran) = load_during_the_claim(&text, false, is_given_back).await;
        assert_eq!((given_back, ran.as_str()), (1, ""), "{text}");
        assert!(!record.is_running() && record.mark < NOON, "{text}: {record:?}");
        assert_eq!(record.verdict, None, "nothing is told of what never came: {text}");
    }
}

#[tokio::test]
async fn a_tick_of_the_schedule_before_and_after_an_edit_runs_once_by_the_new_definition() {
    let both = JOBS.replace("0 12 * * *", "0 12,13 * * *").replace("echo ran", "echo edited");
    let is_last = |event: &Event| matches!(event, Event::RunRecorded { .. });
    let (record, given_back, ran) = load_during_the_claim(&both, false, is_last).await;
    assert_eq!((given_back, ran.as_str()), (1, "edited\n"));
    assert_eq!(record.mark, NOON);
}
