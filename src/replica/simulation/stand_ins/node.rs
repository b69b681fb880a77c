//! One process of a replica, or an `exec`: the shipped core, or the shipped acquisition of a lock, and the shipped holders.
//! What they decide is performed by the world; what happens in the world reaches them in its order.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::config::LogRetention;
use crate::hold::holder::HolderInput;
use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{JobName, JobSpec, NodeName, RunId, Verdict};
use crate::lease::Lease;
use crate::replica::cluster::heartbeat::BEAT_EVERY;
use crate::replica::core::{Core, CoreInput};
use crate::replica::recovery::orphans::Orphan;
use crate::replica::replica::LoadedFile;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Ask, Letter, Order};
use crate::replica::simulation::world::scenario::File;
use crate::replica::simulation::world::slow_line::LineEnd;
use crate::replica::tick::ticker::{LEAD, take_coming};
use crate::run::{Job, StopOrder};
use crate::store::clock::StoreClock;
use crate::store::clock::shared::SharedStoreClock;
use crate::store::{Beat, Told};
use crate::time::{BootInstant, Now, UtcMillis};

use super::errand::{Chore, Errand};
use super::guest::Visit;
use super::lock::Lock;
use super::replica::Opening;

/// What a process has the world do.
#[derive(Debug)]
pub(crate) enum Deed {
    /// Write to the store.
    Send(Box<Letter>),
    /// Start a command, under a guard that knows its deadline.
    Start(Box<StartedRun>),
    /// The request that was sent at `sent` renewed the lock of a run.
    Renewed { run: RunId, sent: BootInstant },
    /// The guard of a run receives this deadline.
    SetDeadline { run: RunId, deadline: BootInstant },
    /// Stop a run.
    Stop { run: RunId, order: StopOrder },
    /// The end of a run is recorded.
    Recorded { run: RunId, verdict: Verdict },
    /// Look for what is left of a run of an earlier process.
    CheckOrphan { orphan: Box<Orphan>, is_first: bool },
    /// A tick that was claimed again was granted, whether or not the replica has a free slot.
    ClaimedAgain,
    /// Something happened that a simulation should come across.
    Count(&'static str),
}

/// A command to start.
#[derive(Debug)]
pub(crate) struct StartedRun {
    pub(crate) job: usize,
    pub(crate) lease: Lease,
    pub(crate) attempt: u32,
    /// The deadline that its guard gets.
    pub(crate) deadline: BootInstant,
    /// When the request was sent that was granted.
    pub(crate) sent: BootInstant,
    /// How much longer its start may wait for its instant.
    pub(crate) may_wait: Duration,
    /// Between SIGTERM and SIGKILL when its guard stops it.
    pub(crate) loss_grace: Duration,
}

/// What a process takes in next.
#[derive(Debug)]
pub(super) enum NodeInput {
    Core(Box<CoreInput>),
    Lock(RunId, HolderInput),
}

/// One process.
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) jobs: Rc<[Arc<JobSpec>]>,
    /// The clocks, as read when the present step began.
    pub(crate) reads: Reads,
    pub(crate) store_clock: SharedStoreClock,
    /// What decides, if it is a replica.
    pub(crate) core: Option<Core>,
    /// What decides, if it is an `exec`.
    pub(crate) visit: Option<Visit>,
    pub(super) locks: BTreeMap<RunId, Lock>,
    /// What is to be taken in, in this order.
    pub(super) inputs: VecDeque<NodeInput>,
    pub(crate) errands: BTreeMap<u64, Errand>,
    pub(super) chores: Vec<(BootInstant, Chore)>,
    pub(super) openings: BTreeMap<u64, Opening>,
    pub(crate) line: LineEnd,
    /// What is on disk, as in `lease_file`: what is known of each job's newest lock.
    pub(crate) disk: BTreeMap<usize, LeaseNote>,
    pub(crate) deeds: Vec<Deed>,
    /// When the request was sent that was granted to a run, as the process knows it.
    pub(super) granted_by: BTreeMap<RunId, BootInstant>,
    /// The runs of an earlier process that may still be going.
    pub(super) orphans: Vec<Orphan>,
    letters: u64,
    pub(super) beat: Option<Beat>,
    pub(super) told: Option<Told>,
    pub(super) next_beat: BootInstant,
    /// From when on it leaves out heartbeats in which nothing is new, if its time is scaled; and the last reading of the
    /// store's clock since then that was sent or left out.
    pub(super) leaves_out_from: Option<BootInstant>,
    pub(super) read_clock: Option<BootInstant>,
    /// A heartbeat is under way; another that is requested meanwhile follows it.
    pub(super) is_beating: bool,
    pub(super) beats_now: bool,
    pub(super) is_left: bool,
}

impl Node {
    fn empty(name: &NodeName, jobs: Rc<[Arc<JobSpec>]>, reads: Reads) -> Self {
        Self {
            name: name.clone(),
            jobs,
            reads,
            store_clock: SharedStoreClock::default(),
            core: None,
            visit: None,
            locks: BTreeMap::new(),
            inputs: VecDeque::new(),
            errands: BTreeMap::new(),
            chores: Vec::new(),
            openings: BTreeMap::new(),
            line: LineEnd::default(),
            disk: BTreeMap::new(),
            deeds: Vec::new(),
            granted_by: BTreeMap::new(),
            orphans: Vec::new(),
            letters: 0,
            beat: None,
            told: None,
            next_beat: reads.boot,
            leaves_out_from: None,
            read_clock: None,
            is_beating: false,
            beats_now: false,
            is_left: false,
        }
    }

    /// Returns a replica that starts now, with what an earlier process left on disk.
    pub(crate) fn replica(
        name: &NodeName,
        file: &File,
        disk: BTreeMap<usize, LeaseNote>,
        line: LineEnd,
        reads: Reads,
    ) -> Self {
        let mut node = Self { disk, ..Self::empty(name, Rc::clone(&file.jobs), reads) };
        let store = "simulated".to_owned();
        let mut core = Core::new(name.clone(), store, loaded(file), node.store_clock.clone(), node.now());
        core.window = line.window();
        node.line = line;
        node.beat = Some(core.beat.clone());
        node.core = Some(core);
        node
    }

    /// Returns an `exec` that starts now.
    pub(super) fn guest(name: &NodeName, jobs: Rc<[Arc<JobSpec>]>, visit: Visit, reads: Reads) -> Self {
        Self { visit: Some(visit), ..Self::empty(name, jobs, reads) }
    }

    /// The clocks.
    pub(crate) fn now(&self) -> Now {
        Now::at(self.reads.boot, self.reads.wall)
    }

    /// Returns the time by which ticks are due.
    pub(crate) fn due_time(&self) -> UtcMillis {
        self.store_clock.due_time(self.now())
    }

    pub(crate) fn store_time(&self) -> UtcMillis {
        self.store_clock.store_time(self.now())
    }

    /// Returns the latest store time that it knows of.
    pub(crate) fn heard(&self) -> UtcMillis {
        self.store_clock.read(StoreClock::heard).unwrap_or_default()
    }

    /// Returns the newest mark of the job that it knows.
    pub(crate) fn known_mark(&self, job: usize) -> Option<UtcMillis> {
        self.core.as_ref()?.contests.get(&self.jobs[job].name)?.known().mark
    }

    /// Returns the newest mark of the job that an answer of the store carried.
    pub(crate) fn answered_mark(&self, job: usize) -> Option<UtcMillis> {
        self.core.as_ref()?.contests.get(&self.jobs[job].name)?.known().answered
    }

    /// Whether it holds the lock of this run, or has still to record its end.
    pub(crate) fn holds(&self, run: RunId) -> bool {
        self.locks.contains_key(&run)
    }

    /// Whether it has noted this run: that is going, or how it ended.
    pub(crate) fn has_noted(&self, run: RunId) -> bool {
        self.disk.values().any(|note| note.lease().run == run)
    }

    /// Returns the number of a job.
    pub(crate) fn number(&self, job: &JobName) -> usize {
        self.jobs.iter().position(|known| known.name == *job).expect("every file has all jobs")
    }

    pub(super) fn numbers<'a>(&self, jobs: impl IntoIterator<Item = &'a JobName>) -> Vec<usize> {
        jobs.into_iter().map(|job| self.number(job)).collect()
    }

    pub(crate) fn send(&mut self, ask: Ask, errand: Errand) {
        self.letters += 1;
        self.errands.insert(self.letters, errand);
        self.deeds.push(Deed::Send(Box::new(Letter { id: self.letters, ask })));
    }

    /// Sends a request whose answer changes nothing.
    pub(super) fn send_only(&mut self, ask: Ask) {
        self.send(ask, Errand::WithoutResult);
    }

    /// Does something after this long.
    pub(super) fn put_off(&mut self, by: Duration, chore: Chore) {
        self.chores.push((self.reads.boot.plus(by), chore));
    }

    pub(super) fn tell_core(&mut self, input: CoreInput) {
        self.inputs.push_back(NodeInput::Core(Box::new(input)));
    }

    pub(super) fn tell_lock(&mut self, run: RunId, input: HolderInput) {
        self.inputs.push_back(NodeInput::Lock(run, input));
    }

    /// Begins.
    pub(crate) fn begin(&mut self, reads: Reads) {
        self.reads = reads;
        self.tell_core(CoreInput::Begin);
        self.wake(reads);
    }

    /// The wall clock was stepped: comes before anything else.
    pub(crate) fn see_step(&mut self, is_stepped: &mut bool, reads: Reads) {
        self.reads = reads;
        self.take_in_left_out_readings();
        if std::mem::take(is_stepped) {
            self.tell_core(CoreInput::ClockStepped);
            self.take_in_all();
        }
    }

    /// Time has passed: takes in what is due.
    pub(crate) fn wake(&mut self, reads: Reads) {
        self.reads = reads;
        self.take_in_all();
        if !self.is_beating && (self.beats_now || reads.boot >= self.beat_due()) {
            self.exchange();
        }
        self.wake_core();
        let chores = std::mem::take(&mut self.chores);
        let (due, later) = chores.into_iter().partition(|(at, _)| *at <= reads.boot);
        self.chores = later;
        for (_, chore) in due {
            self.do_chore(chore);
        }
        self.wake_locks();
        self.take_in_all();
    }

    fn wake_core(&mut self) {
        let Some(core) = &self.core else { return };
        let (due_time, boot) = (self.due_time(), self.reads.boot);
        let coming = take_coming(&core.next_ticks, due_time);
        let is_due = core.next_alarm().is_some_and(|at| at <= due_time);
        let drains_on = core.drain_deadline.until().is_some_and(|until| until <= boot);
        if !coming.is_empty() {
            self.tell_core(CoreInput::TicksAnnounced(coming));
        }
        if is_due || drains_on {
            self.tell_core(CoreInput::Woke);
        }
    }

    /// Takes in everything that has happened, and what follows from it at once.
    pub(super) fn take_in_all(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            let now = self.now();
            match input {
                NodeInput::Core(input) => {
                    let effects = self.core.as_mut().map(|core| core.step(*input, now));
                    effects.into_iter().flatten().for_each(|effect| self.perform(effect));
                }
                NodeInput::Lock(run, input) => self.step_lock(run, input, now),
            }
        }
    }

    /// `Heartbeat::run`.
    fn exchange(&mut self) {
        (self.is_beating, self.beats_now) = (true, false);
        self.next_beat = self.reads.boot.plus(BEAT_EVERY);
        let beat = self.beat.clone().map(|beat| Box::new(Beat { told: self.told.clone(), ..beat }));
        self.send(Ask::Pulse(beat), Errand::Pulse { sent: self.reads.boot });
    }

    /// Returns how long it has nothing to do, by its own clocks.
    pub(crate) fn idle_for(&self) -> Duration {
        let (boot, due_time) = (self.reads.boot, self.due_time());
        let beat = (!self.is_beating).then_some(if self.beats_now { boot } else { self.beat_due() });
        let core = self.core.as_ref();
        let drains_on = core.and_then(|core| core.drain_deadline.until());
        let locks = self.locks.values().filter_map(|lock| lock.wakes_at(self.now(), due_time));
        let boots = self.chores.iter().map(|(at, _)| *at).chain(beat).chain(drains_on).chain(locks);
        boots.map(|at| at.since(boot)).chain(self.next_instant()).min().unwrap_or(BEAT_EVERY)
    }

    /// Returns how long it is until the next tick or alarm.
    pub(super) fn next_instant(&self) -> Option<Duration> {
        let core = self.core.as_ref()?;
        let planned = core.next_ticks.lock().unwrap_or_else(PoisonError::into_inner).earliest();
        let planned = planned.map(|at| at.minus(LEAD));
        let next = core.next_alarm().into_iter().chain(planned).min();
        next.map(|at| at.since(self.due_time()))
    }

    /// An order has come; `file`: the one to load.
    pub(crate) fn ordered(&mut self, order: Order, file: Option<&File>, reads: Reads) {
        self.reads = reads;
        match order {
            Order::ClaimAgain(job, tick) => self.claim_again(job, tick),
            Order::Reload(_) => {
                if let Some(file) = file.filter(|_| !self.is_draining()) {
                    self.jobs = Rc::clone(&file.jobs);
                    self.tell_core(CoreInput::Reload(Box::new(loaded(file))));
                }
            }
            Order::Drain => self.tell_core(CoreInput::Drain),
            Order::StopAtOnce => self.tell_core(CoreInput::StopAtOnce),
        }
        self.take_in_all();
    }

    /// Whether it is a replica that is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.core.as_ref().is_some_and(Core::is_draining)
    }

    /// Whether it ends although runs of it may be going.
    pub(crate) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Returns the last heartbeat of a replica that has drained.
    pub(crate) fn last_beat(&mut self) -> Option<Box<Letter>> {
        let beat = self.beat.take()?;
        self.letters += 1;
        Some(Box::new(Letter { id: self.letters, ask: Ask::Pulse(Some(Box::new(beat))) }))
    }

    /// Whether it is a replica that has drained, or an `exec` that is over, with nothing left to do.
    pub(crate) fn has_left(&self) -> bool {
        let is_over = match (&self.core, &self.visit) {
            (Some(core), _) => core.is_draining(),
            (None, visit) => visit.as_ref().is_some_and(Visit::is_over),
        };
        let is_awaited = |errand: &Errand| !matches!(errand, Errand::Pulse { .. });
        is_over
            && self.locks.is_empty()
            && self.chores.is_empty()
            && !self.errands.values().any(is_awaited)
            && self.line.is_empty()
    }
}

/// What loading the file results in.
pub(super) fn loaded(file: &File) -> LoadedFile {
    let job = |spec: &Arc<JobSpec>| {
        let job = Job { spec: Arc::clone(spec), env: BTreeMap::new(), withheld: Arc::default() };
        (spec.name.clone(), job)
    };
    LoadedFile {
        jobs: file.jobs.iter().map(job).collect(),
        hash: file.hash.clone(),
        expected_replicas: None,
        drain: file.drain,
        labels: file.labels.clone(),
        max_running: file.max_running,
        retention: LogRetention { keep: Duration::from_secs(60), keep_runs: 1, max_bytes: 1 },
    }
}
