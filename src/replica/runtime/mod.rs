//! Runs a replica: waits for instants, answers, orders and the ends of runs, tells the core of each, and performs the
//! effects that it returns. Decides nothing.

pub(super) mod errand;
mod perform;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::events::config_diff::Changes;
use crate::events::event::Event;
use crate::hold::Stop;
use crate::hold::context::{Context, Traffic};
use crate::hold::handle::{LockHandle, RunExit};
use crate::hold::holder::KeptLock;
use crate::hold::start_gate::StartGates;
use crate::job::RunId;
use crate::store::Beat;
use crate::store::clock::shared::SharedStoreClock;
use crate::time::{BootInstant, Clock, Now, UtcMillis, Woke};

use super::cluster::heartbeat::{Exchange, Heartbeat};
use super::core::{Core, CoreInput};
use super::facts::ReplicaFacts;
use super::recovery::orphans::OrphanEnded;
use super::replica::{Alive, LoadedFile, Reload, Replica};
use super::tick::next_ticks::Coming;
use super::tick::ticker::{Ticker, TickerError};
use errand::Done;

/// How long the loop waits if no alarm is set.
const IDLE: Duration = Duration::from_secs(3_600);

/// A replica that is running.
pub(super) struct Runtime {
    pub(super) core: Core,
    pub(super) context: Arc<Context>,
    errands: JoinSet<Done>,
    holders: JoinSet<KeptLock>,
    orphan_checks: JoinSet<OrphanEnded>,
    pruning: JoinSet<()>,
    start_gates: StartGates,
    pub(super) handles: HashMap<RunId, LockHandle>,
    /// Brings each run of which nothing is left.
    ended: (mpsc::UnboundedSender<RunExit>, mpsc::UnboundedReceiver<RunExit>),
    pub(super) beat: watch::Sender<Beat>,
    beat_now: Arc<Notify>,
    pub(super) facts: watch::Sender<ReplicaFacts>,
    alive: Option<Alive>,
    reloads: Option<mpsc::Receiver<Reload>>,
    /// The caller that waits for the file that is being loaded.
    reloaded: Option<oneshot::Sender<Changes>>,
    /// Whether the replica ends although processes of runs may be alive.
    is_left: bool,
}

/// What the loop waits for besides its own tasks.
struct Sources {
    stop: Stop,
    announced: mpsc::UnboundedReceiver<Vec<Coming>>,
    exchanged: mpsc::Receiver<Exchange>,
}

impl Runtime {
    /// Returns a replica that has not begun.
    pub(super) fn build(replica: Replica) -> Self {
        let store_clock = SharedStoreClock::default();
        let file = LoadedFile {
            jobs: replica.jobs,
            hash: replica.file,
            expected_replicas: replica.expected_replicas,
            drain: replica.drain,
            labels: replica.labels,
            max_running: replica.max_running,
            retention: replica.retention,
        };
        let (label, now) = (replica.store.label(), Now::read(&*replica.clock));
        let core = Core::new(replica.node.clone(), label, file, store_clock.clone(), now);
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
            store_clock,
        };
        Self {
            beat: watch::Sender::new(core.beat.clone()),
            core,
            context: Arc::new(context),
            errands: JoinSet::new(),
            holders: JoinSet::new(),
            orphan_checks: JoinSet::new(),
            pruning: JoinSet::new(),
            start_gates: StartGates::default(),
            handles: HashMap::new(),
            ended: mpsc::unbounded_channel(),
            beat_now: Arc::new(Notify::new()),
            facts: replica.facts,
            alive: replica.alive,
            reloads: replica.reloads,
            reloaded: None,
            is_left: false,
        }
    }

    /// Runs the replica until it is ordered to stop.
    pub(super) async fn run(mut self, stop: Stop) -> Result<(), TickerError> {
        let store = self.context.store.label();
        let jobs = self.core.jobs.values().filter(|job| job.spec.enabled).count();
        self.context.events.tell(Event::Started { jobs, store });
        let (announce, announced) = mpsc::unbounded_channel();
        self.step(CoreInput::Begin);
        let context = Arc::clone(&self.context);
        let now = Arc::new(move || context.now());
        let ticker = Ticker::start(Arc::clone(&self.core.next_ticks), now, announce).await?;
        let (exchanges, exchanged) = mpsc::channel(1);
        let heartbeat = Heartbeat {
            store: Arc::clone(&self.context.store),
            clock: Arc::clone(&self.context.clock),
            beat: self.beat.subscribe(),
            beat_now: Arc::clone(&self.beat_now),
            exchanges,
        };
        let over = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(heartbeat.run(over.clone()));
        self.loop_until_stopped(Sources { stop, announced, exchanged }).await;
        self.orphan_checks.shutdown().await;
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

    async fn loop_until_stopped(&mut self, sources: Sources) {
        let Sources { stop, mut announced, mut exchanged } = sources;
        let clock = Arc::clone(&self.context.clock);
        let mut hints = self.context.store.hints();
        let mut armed = UtcMillis(i64::MAX);
        let mut alarm = clock.wait_until(armed);
        let mut at_once = false;
        let mut watchdog = self.alive.as_ref().map(|alive| tokio::time::interval(alive.every));
        if let Some(watchdog) = &mut watchdog {
            watchdog.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        while !(self.core.is_draining() && self.holders.is_empty() && self.errands.is_empty()) {
            let next = self.next_alarm();
            if next != armed {
                armed = next;
                alarm = clock.wait_until(armed);
            }
            let drain_wait = self.core.drain_deadline.until();
            // Every arm is cancel-safe: what it waits for is stored outside of the arm.
            let input = tokio::select! {
                woke = &mut alarm => {
                    armed = UtcMillis(i64::MAX);
                    alarm = clock.wait_until(armed);
                    if woke == Woke::Stepped { CoreInput::ClockStepped } else { CoreInput::Woke }
                }
                () = wait_for_drain(&*clock, drain_wait) => CoreInput::Woke,
                Some(coming) = announced.recv() => CoreInput::TicksAnnounced(coming),
                Some(done) = self.errands.join_next() => {
                    match self.done(done.expect("errands neither panic nor are aborted")) {
                        Some(input) => input,
                        None => continue,
                    }
                }
                Some(run) = self.ended.1.recv() => CoreInput::RunEnded(run),
                Some(kept) = self.holders.join_next() => {
                    let KeptLock { lock, .. } = kept.expect("holders neither panic nor are aborted");
                    self.handles.remove(&lock.run);
                    CoreInput::LockReleased(Box::new(lock))
                }
                Some(checked) = self.orphan_checks.join_next() => {
                    CoreInput::OrphanChecked(checked.expect("checks of orphans neither panic nor are aborted yet"))
                }
                Some(exchange) = exchanged.recv() => {
                    self.exchanged(exchange);
                    continue;
                }
                Some(hint) = hints.recv() => CoreInput::Hint(hint),
                Some(reload) = next_reload(&mut self.reloads) => {
                    self.reload(reload);
                    continue;
                }
                () = next_watchdog(&mut watchdog) => {
                    self.alive.iter().for_each(|alive| (alive.tell)());
                    continue;
                }
                () = stop.drain.cancelled(), if !self.core.is_draining() => {
                    self.step(CoreInput::Drain);
                    self.report_facts();
                    continue;
                }
                () = stop.at_once.cancelled(), if !at_once => {
                    at_once = true;
                    CoreInput::StopAtOnce
                }
            };
            self.step(input);
            if self.is_left {
                self.holders.shutdown().await;
                self.errands.shutdown().await;
                return;
            }
        }
    }

    /// Tells the core what has happened, and performs what it returns. A run that has ended comes before everything
    /// that follows from its end: the answer of a store that knows the end, for example.
    fn step(&mut self, input: CoreInput) {
        while let Ok(run) = self.ended.1.try_recv() {
            self.step_once(CoreInput::RunEnded(run));
        }
        self.step_once(input);
    }

    fn step_once(&mut self, input: CoreInput) {
        let now = Now::read(&*self.context.clock);
        for effect in self.core.step(input, now) {
            self.perform(effect);
        }
    }

    fn exchanged(&mut self, exchange: Exchange) {
        self.hear_for_report(&exchange);
        let stages = self.context.traffic.start_latency.times();
        self.step(CoreInput::Heartbeat { exchange, stages });
        self.context.guards.release(self.context.clock.boot());
        self.report_facts();
    }

    fn reload(&mut self, reload: Reload) {
        self.reloaded = Some(reload.done);
        self.step(CoreInput::Reload(Box::new(reload.file)));
        // A replica that drains loads nothing, and its caller learns of it.
        self.reloaded = None;
    }

    /// Returns what the core takes in of an errand's result.
    fn done(&mut self, done: Done) -> Option<CoreInput> {
        match done {
            Done::Input(input) => Some(*input),
            Done::Claimed { sent, answers, others } => {
                if !others.is_empty() {
                    self.errands.spawn(errand::claims_answered(sent, others));
                }
                Some(CoreInput::ClaimsAnswered { sent, answers })
            }
            Done::Nothing => None,
        }
    }

    /// Returns what the wall clock will show when the next alarm is due.
    fn next_alarm(&self) -> UtcMillis {
        let now = Now::read(&*self.context.clock);
        match self.core.next_alarm() {
            Some(at) => at.plus(now.wall.since(self.context.store_clock.due_time(now))),
            None => now.wall.plus(IDLE),
        }
    }
}

/// Waits for the end of the drain's present wait; never returns if there is none.
async fn wait_for_drain(clock: &dyn Clock, until: Option<BootInstant>) {
    match until {
        Some(until) => clock.wait_until_boot(until).await,
        None => std::future::pending().await,
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
