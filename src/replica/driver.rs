//! The loop of a replica: waits for instants, answers and orders, and performs what the pure parts decide.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::events::event::Event;
use crate::hold::Stop;
use crate::hold::context::{Shop, Traffic};
use crate::hold::handle::Line;
use crate::hold::holder::Kept;
use crate::hold::start_gate::Dues;
use crate::job::{JobName, RunId};
use crate::lease::Claim;
use crate::run::{Job, LogRetention};
use crate::store::Beat;
use crate::time::{BootInstant, UtcMillis, Woke};

use super::cluster::capacity::Room;
use super::cluster::heartbeat::{Exchange, Heartbeat};
use super::cluster::store_audit::Inspection;
use super::cluster::store_health::Watch;
use super::cluster::unschedulable::Vacancies;
use super::control::drain_deadline::{Impatience, Patience};
use super::control::notices::Notices;
use super::errand;
use super::errand::Done;
use super::recovery::lost_runs::LostRuns;
use super::recovery::resync::Past;
use super::replica::{Alive, Reload, Replica};
use super::tick::claim_window::{CLAIMS_UNDER_WAY, Window};
use super::tick::claiming::Contest;
use super::tick::late_claims::Unsynced;
use super::tick::planner::{Agenda, Coming};
use super::tick::ticker::{Clockwork, ClockworkError, SharedAgenda, take_coming};

/// Without anything to wait for, the clock is looked at this often.
const IDLE: Duration = Duration::from_secs(3_600);

/// One replica at work.
pub(super) struct Driver {
    pub(super) shop: Arc<Shop>,
    pub(super) jobs: BTreeMap<JobName, Job>,
    pub(super) contests: HashMap<JobName, Contest>,
    pub(super) watch: Watch,
    pub(super) inspection: Inspection,
    pub(super) vacancies: Vacancies,
    pub(super) room: Room,
    /// When to look at which job again, in any order; looking too often is harmless.
    pub(super) alarms: BinaryHeap<Reverse<(UtcMillis, JobName)>>,
    pub(super) errands: JoinSet<Done>,
    pub(super) window: Window<JobName>,
    pub(super) unsynced: Unsynced,
    /// What is to be claimed, until the loop has done what it was woken for.
    pub(super) claims: Vec<(JobName, Claim)>,
    /// Jobs whose marks are to be read, until then as well.
    pub(super) looks: Vec<JobName>,
    /// Requests to open records that are under way, with when the schedules that they tell of began; `None` for ends of runs.
    pub(super) opening: HashMap<JobName, Option<BootInstant>>,
    pub(super) past: Past,
    pub(super) notices: Notices,
    pub(super) lost: LostRuns,
    pub(super) keepers: JoinSet<Kept>,
    pub(super) dues: Dues,
    pub(super) lines: HashMap<RunId, (JobName, Line)>,
    pub(super) resync: Arc<Notify>,
    pub(super) draining: bool,
    /// Runs are being stopped: nothing is started any more.
    pub(super) stopping: bool,
    pub(super) agenda: SharedAgenda,
    pub(super) beat: watch::Sender<Beat>,
    pub(super) pruning: JoinSet<()>,
    pub(super) retention: LogRetention,
    pub(super) drain: Duration,
    alive: Option<Alive>,
    reloads: Option<mpsc::Receiver<Reload>>,
}

impl Driver {
    /// A replica that has not begun.
    pub(super) fn build(replica: Replica) -> Self {
        let (life, file) = (RunId::new(), replica.file.clone());
        let beat = Beat::of(replica.node.clone(), life, replica.file, replica.clock.utc());
        let beat = Beat { labels: replica.labels.clone(), ..beat };
        let mut agenda = Agenda::default();
        agenda.plan(replica.jobs.values().map(|job| Arc::clone(&job.spec)), replica.clock.utc());
        let begun = replica.clock.boot();
        let contest =
            |(name, job): (&JobName, &Job)| (name.clone(), Contest::new(Arc::clone(&job.spec), begun));
        let contests = replica.jobs.iter().map(contest).collect();
        let mut watch = Watch::new(
            replica.events.clone(),
            replica.store.label(),
            (replica.node.clone(), life),
            (replica.expected_replicas, file),
        );
        watch.roster.carry(replica.labels);
        let shop = Shop {
            node: replica.node,
            store: replica.store,
            clock: replica.clock,
            guards: replica.guards,
            logs: replica.logs,
            ledger: replica.ledger,
            output: replica.output,
            events: replica.events,
            traffic: Traffic::default(),
            memory: watch::Sender::new(None),
        };
        Self {
            shop: Arc::new(shop),
            jobs: replica.jobs,
            contests,
            watch,
            inspection: Inspection::default(),
            vacancies: Vacancies::default(),
            room: Room::new(replica.max_running),
            alarms: BinaryHeap::new(),
            errands: JoinSet::new(),
            window: Window::of(CLAIMS_UNDER_WAY),
            unsynced: Unsynced::default(),
            claims: Vec::new(),
            looks: Vec::new(),
            opening: HashMap::new(),
            past: Past::default(),
            notices: Notices::default(),
            lost: LostRuns::default(),
            keepers: JoinSet::new(),
            dues: Dues::default(),
            lines: HashMap::new(),
            resync: Arc::new(Notify::new()),
            draining: false,
            stopping: false,
            agenda: Arc::new(Mutex::new(agenda)),
            beat: watch::Sender::new(beat),
            pruning: JoinSet::new(),
            retention: replica.retention,
            drain: replica.drain,
            alive: replica.alive,
            reloads: replica.reloads,
        }
    }

    /// Takes part until told to stop.
    pub(super) async fn run(mut self, stop: Stop) -> Result<(), ClockworkError> {
        let store = self.shop.store.label();
        let jobs = self.jobs.values().filter(|job| job.spec.enabled).count();
        self.shop.events.tell(Event::Started { jobs, store });
        let (announce, announced) = mpsc::unbounded_channel();
        self.expect(take_coming(&self.agenda, self.shop.now()));
        let shop = Arc::clone(&self.shop);
        let now = Arc::new(move || shop.now());
        let clockwork = Clockwork::start(Arc::clone(&self.agenda), now, announce).await?;
        let (exchanges, exchanged) = mpsc::channel(1);
        let heartbeat = Heartbeat {
            store: Arc::clone(&self.shop.store),
            clock: Arc::clone(&self.shop.clock),
            beat: self.beat.subscribe(),
            now: Arc::clone(&self.resync),
            exchanges,
        };
        let over = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(heartbeat.run(over.clone()));
        self.prune();
        self.hurry_ends();
        self.errands.spawn(errand::recall(Arc::clone(&self.shop)));
        self.loop_until_stopped(stop, announced, exchanged).await;
        self.past.burials.shutdown().await;
        clockwork.stop().await;
        over.cancel();
        while tasks.join_next().await.is_some() {}
        // A last word, so that nobody waits for this replica; without it, its silence tells.
        let last = self.beat.borrow().clone();
        let _ = self.shop.store.pulse(Some(&last)).await;
        self.shop.logs.flush().await;
        // What is not deleted yet is so by the next life.
        self.pruning.shutdown().await;
        self.shop.events.tell(Event::Stopped);
        Ok(())
    }

    async fn loop_until_stopped(
        &mut self,
        stop: Stop,
        mut announced: mpsc::UnboundedReceiver<Vec<Coming>>,
        mut exchanged: mpsc::Receiver<Exchange>,
    ) {
        let clock = Arc::clone(&self.shop.clock);
        let mut hints = self.shop.store.hints();
        let mut armed = UtcMillis(i64::MAX);
        let mut alarm = clock.wait_until(armed);
        let mut patience = Patience::new();
        let mut at_once = false;
        let mut alive = self.alive.as_ref().map(|alive| tokio::time::interval(alive.every));
        if let Some(alive) = &mut alive {
            alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        while !(self.draining && self.keepers.is_empty() && self.errands.is_empty()) {
            let next = self.next_alarm();
            if next != armed {
                armed = next;
                alarm = clock.wait_until(armed);
            }
            // Every arm is cancel-safe: what it waits for is kept outside of it.
            tokio::select! {
                woke = &mut alarm => {
                    armed = UtcMillis(i64::MAX);
                    alarm = clock.wait_until(armed);
                    self.woke(woke);
                }
                Some(coming) = announced.recv() => self.expect(coming),
                Some(done) = self.errands.join_next() => self.done(done.expect("errands neither panic nor are aborted")),
                Some(kept) = self.keepers.join_next() => self.kept(&kept.expect("keepers neither panic nor are aborted")),
                Some(buried) = self.past.burials.join_next() => self.buried(buried.expect("burials neither panic nor are aborted yet")),
                Some(exchange) = exchanged.recv() => self.exchanged(exchange),
                Some(hint) = hints.recv() => self.take_hint(&hint),
                Some(reload) = another(&mut self.reloads) => self.reload(reload),
                () = tick(&mut alive) => self.alive.iter().for_each(|alive| (alive.tell)()),
                () = stop.drain.cancelled(), if !self.draining => {
                    self.start_to_drain();
                    patience.drain(self.drain);
                }
                () = stop.at_once.cancelled(), if !at_once => {
                    at_once = true;
                    self.start_to_drain();
                    self.stop_runs(Some(Duration::ZERO));
                    patience.stop_at_once();
                }
                next = patience.over() => match next {
                    Impatience::StopRuns => patience.stop(self.stop_runs(None)),
                    Impatience::GiveUp => {
                        self.give_up();
                        patience.rest();
                    },
                    Impatience::Leave => return self.leave_behind().await,
                },
            }
            self.send_claims();
            self.send_looks();
        }
    }

    /// What the wall clock shows when the next alarm is due.
    fn next_alarm(&self) -> UtcMillis {
        let (wall, now) = (self.shop.clock.utc(), self.shop.now());
        match self.alarms.peek() {
            Some(Reverse((at, _))) => at.plus(wall.since(now)),
            None => wall.plus(IDLE),
        }
    }

    /// Ticks will come at their instants.
    pub(super) fn expect(&mut self, coming: Vec<Coming>) {
        self.prepare(&coming);
        self.alarms.extend(coming.into_iter().map(|coming| Reverse((coming.tick.instant(), coming.job))));
    }

    fn woke(&mut self, woke: Woke) {
        let now = self.shop.now();
        if woke == Woke::Stepped {
            return self.clock_stepped();
        }
        let mut due = Vec::new();
        while let Some(alarm) = self.alarms.peek_mut().filter(|alarm| alarm.0.0 <= now) {
            due.push(PeekMut::pop(alarm).0.1);
        }
        self.watch.roster.expect(due.len());
        due.iter().for_each(|job| self.look_at(job, now));
    }
}

/// The next file, if any will ever come.
async fn another(reloads: &mut Option<mpsc::Receiver<Reload>>) -> Option<Reload> {
    match reloads {
        Some(reloads) => reloads.recv().await,
        None => std::future::pending().await,
    }
}

async fn tick(interval: &mut Option<tokio::time::Interval>) {
    match interval {
        Some(interval) => {
            interval.tick().await;
        }
        None => std::future::pending().await,
    }
}
