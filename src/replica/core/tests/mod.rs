//! The core over a store that decides at once: what it does with each kind of input, effect by effect.

mod capacity;
mod drain;
mod outages;
mod reload;
mod runs;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::LogRetention;
use crate::config::testing::config;
use crate::events::config_diff::Changes;
use crate::events::event::Event;
use crate::hold::handle::RunExit;
use crate::hold::holder::ReleasedLock;
use crate::job::{JobName, NodeName, Outcome, RunId, Tick, Verdict};
use crate::lease::{Answer, Era, Finish, LeaseInstant, Memory, Record, Request, Server, decide};
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::cluster::roster::tests::peer;
use crate::replica::replica::LoadedFile;
use crate::replica::tick::ticker::take_coming;
use crate::run::{Job, StopOrder};
use crate::store::clock::shared::SharedStoreClock;
use crate::store::{Beat, Marked, Marker, Notice, Peer, Pulse, Replied, StoreError};
use crate::time::{BootInstant, Now, UtcMillis};

use super::{Core, CoreInput, Effect, PastRead, RunStart};

/// Ticks every ten seconds.
const AT_TEN: &str = "schedule = \"*/10 * * * * *\"";

/// Midnight, UTC.
const T0: UtcMillis = UtcMillis(1_767_225_600_000);

/// How the store answers claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    AtOnce,
    /// They are kept until [`Bench::let_answers_in`].
    Later,
    /// The claims are decided, and their answers lost.
    Lost,
}

/// One replica, its store, and what it has done.
struct Bench {
    core: Core,
    now: Now,
    heartbeat_due: BootInstant,
    records: BTreeMap<JobName, Record>,
    era: Era,
    is_store_up: bool,
    answers: Answers,
    kept: Vec<CoreInput>,
    notices: Vec<Notice>,
    others: Vec<Peer>,
    past: Option<PastRead>,
    beat: Option<Beat>,
    events: Vec<Event>,
    started: Vec<RunStart>,
    stops: Vec<(RunId, StopOrder)>,
    /// The names of all other effects.
    done: Vec<String>,
    reloaded: Option<Changes>,
}

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

/// The file with these jobs, each one table, and these keys of `[replica]`.
fn file(jobs: &[(&str, &str)], max_running: Option<u32>) -> LoadedFile {
    let tables = jobs.iter().map(|(name, keys)| format!("[jobs.{name}]\ncommand = [\"true\"]\n{keys}\n"));
    let text =
        format!("[cluster]\nname = \"c\"\nstore = \"redis://127.0.0.1\"\n{}", tables.collect::<String>());
    let config = config(text);
    let job = |spec| Job { spec, env: BTreeMap::new(), withheld: std::sync::Arc::default() };
    LoadedFile {
        jobs: config.jobs.into_iter().map(|(name, spec)| (name, job(spec))).collect(),
        hash: config.fingerprint,
        expected_replicas: None,
        drain: Duration::from_secs(30),
        labels: Vec::new(),
        max_running,
        retention: LogRetention { keep: Duration::from_secs(60), keep_runs: 1, max_bytes: 1 },
    }
}

impl Bench {
    /// A replica whose file has these jobs, after its first five seconds.
    fn of(jobs: &[(&str, &str)], max_running: Option<u32>) -> Self {
        let mut bench = Self::begun(file(jobs, max_running), None);
        bench.pass(5_000);
        bench
    }

    /// The same with so many jobs, `j0` and so on, whose ticks come together.
    fn of_many(jobs: usize) -> Self {
        let names: Vec<String> = (0..jobs).map(|number| format!("j{number}")).collect();
        Self::of(&names.iter().map(|name| (name.as_str(), AT_TEN)).collect::<Vec<_>>(), None)
    }

    /// A replica that has just begun, after an earlier process that left this behind.
    fn begun(file: LoadedFile, past: Option<PastRead>) -> Self {
        let now = Now::at(BootInstant(Duration::from_secs(1_000)), T0);
        let node = NodeName::parse("a").expect("a name");
        let core = Core::new(node, "store".into(), file, SharedStoreClock::default(), now);
        let mut bench = Self {
            core,
            now,
            heartbeat_due: now.boot,
            records: BTreeMap::new(),
            era: Era("e".into()),
            is_store_up: true,
            answers: Answers::AtOnce,
            kept: Vec::new(),
            notices: Vec::new(),
            others: Vec::new(),
            past,
            beat: None,
            events: Vec::new(),
            started: Vec::new(),
            stops: Vec::new(),
            done: Vec::new(),
            reloaded: None,
        };
        bench.tell(CoreInput::Begin);
        bench
    }

    /// Lets so many milliseconds pass, in steps of ten.
    fn pass(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            let boot = self.now.boot.plus(Duration::from_millis(10));
            self.now = Now::at(boot, self.now.wall.plus(Duration::from_millis(10)));
            if boot >= self.heartbeat_due {
                self.heartbeat_due = boot.plus(Duration::from_secs(1));
                self.beat();
            }
            let coming = take_coming(&self.core.next_ticks, self.now.wall);
            if !coming.is_empty() {
                self.tell(CoreInput::TicksAnnounced(coming));
            }
            let is_due = self.core.next_alarm().is_some_and(|at| at <= self.now.wall);
            if is_due || self.core.drain_deadline.until().is_some_and(|until| until <= boot) {
                self.tell(CoreInput::Woke);
            }
        }
    }

    /// Exchanges heartbeats with the store.
    fn beat(&mut self) {
        let own = self.beat.clone().map(|beat| Peer { at: self.now.wall, beat });
        let pulse = Pulse {
            now: self.now.wall,
            era: self.era.clone(),
            marker: Some(Marker("m".into())),
            count: 1,
            peers: own.into_iter().chain(self.others.clone()).collect(),
            notices: self.notices.clone(),
        };
        let result = if self.is_store_up { Ok(pulse) } else { Err(StoreError::NotSent("down".into())) };
        let exchange = Exchange { sent: self.now.boot, received: self.now.boot, wall: self.now.wall, result };
        self.tell(CoreInput::Heartbeat { exchange, stages: Vec::new() });
    }

    /// Tells the core of an input and of everything that follows from it at once.
    fn tell(&mut self, input: CoreInput) {
        let mut inputs = std::collections::VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.core.step(input, self.now) {
                inputs.extend(self.perform(effect));
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<CoreInput> {
        let sent = self.now.boot;
        match effect {
            Effect::Report(event) => self.events.push(event),
            Effect::Claim(claims) => {
                let answers = claims.into_iter().map(|(job, claim)| {
                    let reply = self.submit(&job, &Request::Claim(claim));
                    let lost = || Err(StoreError::Unknown("no answer".into()));
                    (job, if self.answers == Answers::Lost { lost() } else { reply })
                });
                let answered = CoreInput::ClaimsAnswered { sent, answers: answers.collect() };
                self.done.push("claim".into());
                if self.answers == Answers::Later {
                    self.kept.push(answered);
                    return None;
                }
                return Some(answered);
            }
            Effect::ClaimInstead { job, claim, doubt } => {
                let _ = self.submit(&job, &Request::Abandon(doubt));
                let reply = self.submit(&job, &Request::Claim(*claim));
                return Some(CoreInput::ClaimsAnswered { sent, answers: vec![(job, reply)] });
            }
            Effect::GiveBack { job, doubt } => {
                self.done.push(format!("give back {job}"));
                let _ = self.submit(&job, &Request::Abandon(doubt));
            }
            Effect::RequestManualRun { job, manual } => {
                let run = manual.run;
                let reply = self.submit(&job, &Request::Manual(*manual));
                return Some(CoreInput::ManualRunAnswered { job, run, sent, reply });
            }
            Effect::OpenRecords { opens, resend } => {
                self.done.push(format!("open {} resend {}", opens.len(), resend.len()));
                let open = |(job, open)| {
                    let reply = self.submit(&job, &Request::Open(open));
                    (job, reply)
                };
                let opened = opens.into_iter().map(open).collect();
                let resent = resend.into_iter().map(|job| (job, None)).collect();
                return Some(CoreInput::RecordsOpened { opened, resent });
            }
            Effect::ReadRecord { job, .. } => {
                let record = Ok(self.records.get(&job).cloned().map(Box::new));
                return Some(CoreInput::RecordRead { job, record });
            }
            Effect::ReadMarks(jobs) => {
                let mark = |job: &JobName| self.records.get(job).and_then(Marked::of);
                return Some(CoreInput::MarksRead { marks: jobs.iter().map(mark).collect(), jobs });
            }
            Effect::ReadPast => {
                let none =
                    PastRead { orphans: Vec::new(), largest_fence: crate::job::Fence(0), noted: Vec::new() };
                return Some(CoreInput::PastRead(self.past.take().unwrap_or(none)));
            }
            Effect::Start(start) => self.started.push(*start),
            Effect::Stop { run, order } => self.stops.push((run, order)),
            Effect::SetBeat(beat) => self.beat = Some(*beat),
            Effect::Reloaded(changes) => self.reloaded = Some(changes),
            other => {
                let text = format!("{other:?}");
                self.done.push(text.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
            }
        }
        None
    }

    /// Has the store decide a request now.
    fn submit(&mut self, job: &JobName, request: &Request) -> Replied {
        if !self.is_store_up {
            return Err(StoreError::NotSent("down".into()));
        }
        let wall = self.now.wall;
        let (lease_now, memory) = (LeaseInstant(wall.0), Memory::Forgetful);
        let server = Server { now: wall, lease_now, era: self.era.clone(), memory };
        let decision = decide(self.records.get(job), request, &server);
        if let Some(record) = decision.record {
            self.records.insert(job.clone(), record);
        }
        Ok(decision.reply)
    }

    /// Brings the answers that were kept, and keeps no more.
    fn let_answers_in(&mut self) {
        self.answers = Answers::AtOnce;
        std::mem::take(&mut self.kept).into_iter().for_each(|answered| self.tell(answered));
    }

    /// The names of the jobs whose runs were started, in their order.
    fn started(&self) -> Vec<&str> {
        self.started.iter().map(|start| start.grant.launch.identity.job.as_str()).collect()
    }

    /// The instants of the ticks whose runs were started, in milliseconds from the beginning.
    fn started_at(&self) -> Vec<i64> {
        let tick = |start: &RunStart| start.grant.lease.tick;
        self.started.iter().map(|start| Tick::as_millis(tick(start)) - T0.0).collect()
    }

    /// The newest run of the job.
    fn run_of(&self, name: &str) -> RunId {
        let of_job = |start: &&RunStart| start.grant.launch.identity.job == job(name);
        self.started.iter().rev().find(of_job).expect("it was started").grant.lease.run
    }

    /// The newest run of the job ends well: first nothing of it is left, then its end is recorded.
    fn end(&mut self, name: &str) {
        self.tell(CoreInput::RunEnded(RunExit { run: self.run_of(name), was_cut_short: false }));
        self.record_end(name, Verdict::plain(Outcome::Succeeded));
    }

    fn record_end(&mut self, name: &str, verdict: Verdict) {
        let run = self.run_of(name);
        let start = self.started.iter().find(|start| start.grant.lease.run == run).expect("it was started");
        let finish = Finish {
            lease: start.grant.lease.clone(),
            era: start.grant.era.clone(),
            attempt: 1,
            verdict,
            ended: self.now.wall,
            exit_code: None,
            signal: None,
            tail: String::new(),
            leapt: None,
        };
        let tick = start.grant.lease.tick;
        self.submit(&job(name), &Request::Finish(finish)).expect("the store is up");
        let cut_short = (verdict.outcome == Outcome::Interrupted).then_some(tick);
        let lock = ReleasedLock { job: job(name), run, given_back: None, cut_short };
        self.tell(CoreInput::LockReleased(Box::new(lock)));
    }

    /// How often an effect of this name was performed.
    fn count(&self, name: &str) -> usize {
        self.done.iter().filter(|done| *done == name).count()
    }
}

#[test]
fn a_tick_is_claimed_and_started_once() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    bench.pass(10_000);
    assert_eq!(bench.started_at(), [10_000]);
    bench.end("j");
    bench.pass(10_000);
    assert_eq!(bench.started_at(), [10_000, 20_000]);
}

#[test]
fn claims_of_one_step_share_calls_of_thirty_two() {
    let mut bench = Bench::of_many(70);
    bench.pass(6_000);
    assert_eq!(bench.started.len(), 70);
    assert_eq!(bench.count("claim"), 3, "32 + 32 + 6");
}

#[test]
fn it_wakes_for_its_next_tick_and_not_long_before() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    assert_eq!(bench.core.next_alarm(), None, "the tick is not announced yet");
    bench.pass(4_000);
    let alarm = bench.core.next_alarm().expect("the tick is announced").0 - T0.0;
    // Claims travel for a while.
    assert!((9_900..=10_000).contains(&alarm), "{alarm} ms");
}

#[test]
fn where_many_ticks_are_due_at_once_other_replicas_wait_longer_for_the_first() {
    let most = |due: usize| {
        let mut bench = Bench::of_many(due);
        bench.others = vec![peer("b", bench.now.wall.0 + 4_000)];
        bench.pass(6_000);
        let roster = &bench.core.health.roster;
        let spec = &bench.core.jobs[&job("j0")].spec;
        (0..50).map(|at| roster.stagger(spec, Tick::at_millis(at))).max().expect("fifty ticks")
    };
    assert!(most(1) > Duration::ZERO, "the other replica is live");
    assert!(most(100) > most(1));
}

#[test]
fn many_claims_that_the_store_finds_late_are_logged() {
    let mut bench = Bench::of_many(12);
    bench.answers = Answers::Later;
    bench.pass(5_050);
    for answered in &mut bench.kept {
        let CoreInput::ClaimsAnswered { answers, .. } = answered else { continue };
        answers.iter_mut().flat_map(|(_, reply)| reply).for_each(|reply| reply.answer = Answer::Unsynced);
    }
    bench.let_answers_in();
    bench.pass(1_000);
    let counts = bench.events.iter().filter_map(|event| match event {
        Event::ClaimsUnsynced { count } => Some(*count),
        _ => None,
    });
    assert_eq!(counts.collect::<Vec<_>>(), [12]);
}

#[test]
fn the_heartbeat_lists_the_runs_from_their_grant_until_their_locks_are_released() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    let running = |bench: &Bench| bench.beat.as_ref().map_or(0, |beat| beat.running.len());
    assert_eq!(running(&bench), 0);
    bench.pass(6_000);
    assert_eq!(running(&bench), 1);
    bench.tell(CoreInput::RunEnded(RunExit { run: bench.run_of("j"), was_cut_short: false }));
    assert_eq!(running(&bench), 1, "its lock is held until its end is recorded");
    bench.record_end("j", Verdict::plain(Outcome::Succeeded));
    assert_eq!(running(&bench), 0);
}
