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

use crate::config::LogRetention;
use crate::events::event::Event;
use crate::hold::Stop;
use crate::hold::context::{Context, Traffic};
use crate::hold::handle::LockHandle;
use crate::hold::holder::ReleasedLock;
use crate::hold::start_gate::StartGates;
use crate::job::{JobName, RunId};
use crate::lease::Claim;
use crate::run::Job;
use crate::store::Beat;
use crate::time::{BootInstant, UtcMillis, Woke};

use super::cluster::capacity::Capacity;
use super::cluster::heartbeat::{Exchange, Heartbeat};
use super::cluster::store_audit::Inspection;
use super::cluster::store_health::StoreHealth;
use super::cluster::unschedulable::Unschedulable;
use super::control::drain_deadline::{DrainDeadline, DrainStage};
use super::control::notices::Notices;
use super::errand;
use super::errand::Done;
use super::facts::ReplicaFacts;
use super::recovery::lost_runs::LostRuns;
use super::recovery::resync::Past;
use super::replica::{Alive, Reload, Replica};
use super::tick::claim_window::{CLAIMS_UNDER_WAY, Window};
use super::tick::claiming::Contest;
use super::tick::late_claims::LateClaims;
use super::tick::next_ticks::{Coming, NextTicks};
use super::tick::ticker::{SharedNextTicks, Ticker, TickerError, take_coming};

/// How long the loop waits if no alarm is set.
const IDLE: Duration = Duration::from_secs(3_600);

/// A replica that is running.
pub(super) struct Driver {
    pub(super) context: Arc<Context>,
    pub(super) jobs: BTreeMap<JobName, Job>,
    pub(super) contests: HashMap<JobName, Contest>,
    pub(super) health: StoreHealth,
    pub(super) inspection: Inspection,
    pub(super) unschedulable: Unschedulable,
    pub(super) capacity: Capacity,
    /// When to check which job again, earliest first. Checking too often is harmless.
    pub(super) alarms: BinaryHeap<Reverse<(UtcMillis, JobName)>>,
    pub(super) errands: JoinSet<Done>,
    pub(super) window: Window<JobName>,
    pub(super) late_claims: LateClaims,
    /// Claims to send at the end of this turn of the loop.
    pub(super) claims: Vec<(JobName, Claim)>,
    /// Jobs whose marks are to be read at the end of this turn of the loop.
    pub(super) looks: Vec<JobName>,
    /// Requests under way to open records, with the start of the schedule that each contains. `None` for finishes,
    /// and for openings whose answer does not count any more.
    pub(super) opening: HashMap<JobName, Option<BootInstant>>,
    pub(super) past: Past,
    pub(super) notices: Notices,
    pub(super) lost: LostRuns,
    pub(super) holders: JoinSet<ReleasedLock>,
    pub(super) start_gates: StartGates,
    pub(super) handles: HashMap<RunId, (JobName, LockHandle)>,
    pub(super) resync: Arc<Notify>,
    pub(super) draining: bool,
    /// Whether runs are being stopped: nothing is started any more.
    pub(super) stopping: bool,
    pub(super) next_ticks: SharedNextTicks,
    pub(super) beat: watch::Sender<Beat>,
    pub(super) pruning: JoinSet<()>,
    pub(super) retention: LogRetention,
    pub(super) drain: Duration,
    pub(super) facts: watch::Sender<ReplicaFacts>,
    alive: Option<Alive>,
    reloads: Option<mpsc::Receiver<Reload>>,
}

impl Driver {
    /// Builds a replica that has not begun.
    pub(super) fn build(replica: Replica) -> Self {
        let (life, file) = (RunId::new(), replica.file.clone());
        let beat = Beat::of(replica.node.clone(), life, replica.file, replica.clock.utc());
        let beat = Beat { labels: replica.labels.clone(), ..beat };
        let mut next_ticks = NextTicks::default();
        next_ticks.plan(replica.jobs.values().map(|job| Arc::clone(&job.spec)), replica.clock.utc());
        let begun = replica.clock.boot();
        let contest =
            |(name, job): (&JobName, &Job)| (name.clone(), Contest::new(Arc::clone(&job.spec), begun));
        let contests = replica.jobs.iter().map(contest).collect();
        let mut health = StoreHealth::new(
            replica.events.clone(),
            replica.store.label(),
            replica.node.clone(),
            life,
            replica.expected_replicas,
            file,
        );
        health.roster.carry(replica.labels);
        let context = Context {
            node: replica.node,
            store: replica.store,
            clock: replica.clock,
            guards: replica.guards,
            logs: replica.logs,
            lease_file: replica.lease_file,
            output: replica.output,
            events: replica.events,
            traffic: Traffic::default(),
            store_clock: Mutex::default(),
        };
        Self {
            context: Arc::new(context),
            jobs: replica.jobs,
            contests,
            health,
            inspection: Inspection::default(),
            unschedulable: Unschedulable::default(),
            capacity: Capacity::new(replica.max_running),
            alarms: BinaryHeap::new(),
            errands: JoinSet::new(),
            window: Window::of(CLAIMS_UNDER_WAY),
            late_claims: LateClaims::default(),
            claims: Vec::new(),
            looks: Vec::new(),
            opening: HashMap::new(),
            past: Past::default(),
            notices: Notices::default(),
            lost: LostRuns::default(),
            holders: JoinSet::new(),
            start_gates: StartGates::default(),
            handles: HashMap::new(),
            resync: Arc::new(Notify::new()),
            draining: false,
            stopping: false,
            next_ticks: Arc::new(Mutex::new(next_ticks)),
            beat: watch::Sender::new(beat),
            pruning: JoinSet::new(),
            retention: replica.retention,
            drain: replica.drain,
            facts: replica.facts,
            alive: replica.alive,
            reloads: replica.reloads,
        }
    }

    /// Runs the replica until it is ordered to stop.
    pub(super) async fn run(mut self, stop: Stop) -> Result<(), TickerError> {
        let store = self.context.store.label();
        let jobs = self.jobs.values().filter(|job| job.spec.enabled).count();
        self.context.events.tell(Event::Started { jobs, store });
        let (announce, announced) = mpsc::unbounded_channel();
        self.expect(take_coming(&self.next_ticks, self.context.now()));
        let context = Arc::clone(&self.context);
        let now = Arc::new(move || context.now());
        let ticker = Ticker::start(Arc::clone(&self.next_ticks), now, announce).await?;
        let (exchanges, exchanged) = mpsc::channel(1);
        let heartbeat = Heartbeat {
            store: Arc::clone(&self.context.store),
            clock: Arc::clone(&self.context.clock),
            beat: self.beat.subscribe(),
            beat_now: Arc::clone(&self.resync),
            exchanges,
        };
        let over = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(heartbeat.run(over.clone()));
        self.prune();
        self.hurry_ends();
        self.errands.spawn(errand::recall(Arc::clone(&self.context)));
        self.loop_until_stopped(stop, announced, exchanged).await;
        self.past.orphan_ends.shutdown().await;
        ticker.stop().await;
        over.cancel();
        while tasks.join_next().await.is_some() {}
        // A last heartbeat, so that no replica waits for this one. If it fails, the others notice that this replica
        // is silent.
        let last = self.beat.borrow().clone();
        let _ = self.context.store.pulse(Some(&last)).await;
        self.context.logs.flush().await;
        // Logs that are not deleted yet are deleted by the next process.
        self.pruning.shutdown().await;
        self.context.events.tell(Event::Stopped);
        Ok(())
    }

    async fn loop_until_stopped(
        &mut self,
        stop: Stop,
        mut announced: mpsc::UnboundedReceiver<Vec<Coming>>,
        mut exchanged: mpsc::Receiver<Exchange>,
    ) {
        let clock = Arc::clone(&self.context.clock);
        let mut hints = self.context.store.hints();
        let mut armed = UtcMillis(i64::MAX);
        let mut alarm = clock.wait_until(armed);
        let mut drain_deadline = DrainDeadline::new();
        let mut at_once = false;
        let mut watchdog = self.alive.as_ref().map(|alive| tokio::time::interval(alive.every));
        if let Some(watchdog) = &mut watchdog {
            watchdog.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        while !(self.draining && self.holders.is_empty() && self.errands.is_empty()) {
            let next = self.next_alarm();
            if next != armed {
                armed = next;
                alarm = clock.wait_until(armed);
            }
            // Every arm is cancel-safe: what it waits for is stored outside of the arm.
            tokio::select! {
                woke = &mut alarm => {
                    armed = UtcMillis(i64::MAX);
                    alarm = clock.wait_until(armed);
                    self.woke(woke);
                }
                Some(coming) = announced.recv() => self.expect(coming),
                Some(done) = self.errands.join_next() => self.done(done.expect("errands neither panic nor are aborted")),
                Some(lock) = self.holders.join_next() => self.released(&lock.expect("holders neither panic nor are aborted")),
                Some(orphan_ended) = self.past.orphan_ends.join_next() => self.orphan_ended(orphan_ended.expect("checks of orphans neither panic nor are aborted yet")),
                Some(exchange) = exchanged.recv() => {
                    self.exchanged(exchange);
                    self.report();
                }
                Some(hint) = hints.recv() => self.take_hint(&hint),
                Some(reload) = next_reload(&mut self.reloads) => self.reload(reload),
                () = next_watchdog(&mut watchdog) => self.alive.iter().for_each(|alive| (alive.tell)()),
                () = stop.drain.cancelled(), if !self.draining => {
                    self.start_to_drain();
                    self.report();
                    drain_deadline.drain(self.drain);
                }
                () = stop.at_once.cancelled(), if !at_once => {
                    at_once = true;
                    self.start_to_drain();
                    self.stop_runs(Some(Duration::ZERO));
                    drain_deadline.stop_at_once();
                }
                next = drain_deadline.over() => match next {
                    DrainStage::StopRuns => drain_deadline.stop(self.stop_runs(None)),
                    DrainStage::GiveUp => {
                        self.give_up();
                        drain_deadline.rest();
                    },
                    DrainStage::Leave => return self.leave_behind().await,
                },
            }
            self.send_claims();
            self.send_looks();
        }
    }

    /// Returns what the wall clock will show when the next alarm is due.
    fn next_alarm(&self) -> UtcMillis {
        let (wall, now) = (self.context.clock.utc(), self.context.now());
        match self.alarms.peek() {
            Some(Reverse((at, _))) => at.plus(wall.since(now)),
            None => wall.plus(IDLE),
        }
    }

    /// Sets alarms for ticks at their instants, and prepares claims ahead of them.
    pub(super) fn expect(&mut self, coming: Vec<Coming>) {
        self.prepare(&coming);
        self.alarms.extend(coming.into_iter().map(|coming| Reverse((coming.tick.instant(), coming.job))));
    }

    fn woke(&mut self, woke: Woke) {
        let now = self.context.now();
        if woke == Woke::Stepped {
            return self.clock_stepped();
        }
        let mut due = Vec::new();
        while let Some(alarm) = self.alarms.peek_mut().filter(|alarm| alarm.0.0 <= now) {
            due.push(PeekMut::pop(alarm).0.1);
        }
        self.health.roster.expect(due.len());
        due.iter().for_each(|job| self.look_at(job, now));
    }
}

/// Returns the next loaded file; never returns if there is no channel.
async fn next_reload(reloads: &mut Option<mpsc::Receiver<Reload>>) -> Option<Reload> {
    match reloads {
        Some(reloads) => reloads.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits until the watchdog is to be notified again; never returns if there is none.
async fn next_watchdog(watchdog: &mut Option<tokio::time::Interval>) {
    match watchdog {
        Some(watchdog) => {
            watchdog.tick().await;
        }
        None => std::future::pending().await,
    }
}
