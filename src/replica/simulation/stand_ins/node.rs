//! A simulated replica: the shipped pure parts, without their driver. Where a line here repeats what shipped async code
//! does, its comment names that code; everything else decides as it is shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{JobSpec, NodeName, RunId, Verdict};
use crate::lease::Era;
use crate::replica::cluster::store_health::StoreHealth;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Ask, Letter};
use crate::replica::simulation::world::slow_line::LineEnd;
use crate::replica::tick::action::Doubt;
use crate::replica::tick::claim_window::Window;
use crate::replica::tick::claiming::{Contest, asked_ahead};
use crate::replica::tick::next_ticks::{Coming, NextTicks};
use crate::replica::tick::ticker::LEAD;
use crate::run::StopReason;
use crate::store::clock::StoreClock;
use crate::store::clock::shared::due_by;
use crate::store::{Beat, BeatRun};
use crate::time::{BootInstant, UtcMillis};

use super::errand::{Chore, Errand};
use super::guest::Visit;
use super::keep::Keep;

/// The heartbeat's interval, as in `heartbeat.rs`.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// What a replica has the world do.
#[derive(Debug)]
pub(crate) enum Deed {
    /// Write to the store.
    Send(Box<Letter>),
    /// Start the command of the keep that was made last, under a guard that knows its deadline.
    Start(Box<Keep>),
    /// The lock of a run was renewed by the request sent at `sent`. Its guard receives this deadline; the guard of a
    /// run that has to stop receives none.
    Renewed { run: RunId, sent: BootInstant, deadline: Option<BootInstant> },
    /// Stop a run.
    Stop { run: RunId, grace: Duration, reason: StopReason },
    /// The end of a run is recorded.
    Recorded { run: RunId, verdict: Verdict },
}

/// One process of a replica.
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) jobs: Rc<[Arc<JobSpec>]>,
    /// The clocks, as read when the present step began.
    pub(crate) reads: Reads,
    pub(crate) store_clock: Option<StoreClock>,
    pub(crate) health: StoreHealth,
    pub(crate) next_ticks: NextTicks,
    pub(crate) contests: Vec<Contest>,
    pub(crate) alarms: BTreeSet<(UtcMillis, usize)>,
    pub(crate) keeps: Vec<Keep>,
    pub(crate) opening: BTreeSet<usize>,
    /// Those requests to open a record whose answers do not count any more.
    pub(crate) outdated: BTreeSet<usize>,
    pub(crate) errands: BTreeMap<u64, Errand>,
    pub(crate) window: Window<usize>,
    pub(crate) line: LineEnd,
    pub(crate) chores: Vec<(BootInstant, Chore)>,
    /// What is on disk, as in `lease_file`: what is known of each job's newest lock.
    pub(crate) disk: BTreeMap<usize, LeaseNote>,
    /// As in `resync.rs`: runs of an earlier process that are not handled yet, and jobs of which the store may not know
    /// how the last run ended.
    pub(crate) awaited: BTreeSet<(usize, RunId)>,
    pub(crate) untold: BTreeSet<usize>,
    pub(crate) deeds: Vec<Deed>,
    /// Its task, if it is a guest and no replica.
    pub(crate) visit: Option<Visit>,
    letters: u64,
    pub(crate) beat: Beat,
    next_beat: BootInstant,
    /// A heartbeat is under way; another that is requested meanwhile follows it.
    beating: bool,
    pub(crate) resync: bool,
}

impl Node {
    /// Returns a replica that starts now, with what an earlier process left on disk.
    pub(crate) fn start(
        name: &NodeName,
        jobs: Rc<[Arc<JobSpec>]>,
        disk: BTreeMap<usize, LeaseNote>,
        reads: Reads,
    ) -> Self {
        let life = RunId::new();
        let mut next_ticks = NextTicks::default();
        next_ticks.plan(jobs.iter().cloned(), reads.wall);
        let beat = Beat::of(name.clone(), life, String::new(), reads.wall);
        Self {
            name: name.clone(),
            contests: jobs.iter().map(|job| Contest::new(Arc::clone(job), reads.boot)).collect(),
            jobs,
            reads,
            store_clock: None,
            health: StoreHealth::new("simulated".to_owned(), name.clone(), life, None, String::new()),
            next_ticks,
            alarms: BTreeSet::new(),
            keeps: Vec::new(),
            opening: BTreeSet::new(),
            outdated: BTreeSet::new(),
            errands: BTreeMap::new(),
            window: LineEnd::default().window(),
            line: LineEnd::default(),
            chores: Vec::new(),
            awaited: disk
                .iter()
                .filter(|(_, note)| matches!(note, LeaseNote::Running { .. }))
                .map(|(job, note)| (*job, note.lease().run))
                .collect(),
            untold: disk.keys().copied().collect(),
            disk,
            deeds: Vec::new(),
            visit: None,
            letters: 0,
            beat,
            next_beat: reads.boot,
            beating: false,
            resync: false,
        }
    }

    /// `Context::now`.
    pub(crate) fn now(&self) -> UtcMillis {
        due_by(self.reads.wall, self.store_time())
    }

    /// `Context::store_time`.
    pub(crate) fn store_time(&self) -> UtcMillis {
        self.store_clock
            .as_ref()
            .map_or(self.reads.wall, |store_clock| store_clock.store_time(self.reads.boot))
    }

    /// `Context::leapt`.
    pub(crate) fn leapt(&self) -> Option<UtcMillis> {
        self.store_clock.as_ref().and_then(StoreClock::leapt)
    }

    /// `Context::era`.
    pub(crate) fn era(&self) -> Era {
        self.store_clock.as_ref().map(|store_clock| store_clock.era().clone()).unwrap_or_default()
    }

    pub(crate) fn send(&mut self, ask: Ask, errand: Errand) {
        self.letters += 1;
        self.errands.insert(self.letters, errand);
        self.deeds.push(Deed::Send(Box::new(Letter { id: self.letters, ask })));
    }

    /// Time has passed: beats, wakes the jobs whose alarm it is, and does its chores.
    pub(crate) fn wake(&mut self, reads: Reads) {
        self.reads = reads;
        if !self.beating && (self.resync || reads.boot >= self.next_beat) {
            self.exchange();
        }
        let now = self.now();
        self.expect_until(now);
        while let Some(&(at, job)) = self.alarms.first().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, job));
            self.look_at(job);
        }
        let chores = std::mem::take(&mut self.chores);
        let (due, later) = chores.into_iter().partition(|(at, _)| *at <= reads.boot);
        self.chores = later;
        for (_, chore) in due {
            self.do_chore(chore);
        }
        self.take_turns();
        self.attend_all();
    }

    /// `Heartbeat::run`.
    fn exchange(&mut self) {
        (self.beating, self.resync) = (true, false);
        self.next_beat = self.reads.boot.plus(BEAT_EVERY);
        let job = |keep: &Keep| self.jobs[keep.job].name.clone();
        self.beat.running = self
            .keeps
            .iter()
            .map(|keep| BeatRun {
                job: job(keep),
                run: keep.lease.run,
                lease_ms: u64::try_from(keep.lease.length.as_millis()).unwrap_or(u64::MAX),
            })
            .collect();
        let beat = self.visit.is_none().then(|| self.beat.clone());
        self.send(Ask::Pulse(beat), Errand::Pulse { sent: self.reads.boot });
    }

    /// The heartbeat under way is back, or lost.
    pub(crate) fn beat_over(&mut self) {
        self.beating = false;
        self.next_beat = self.next_beat.max(self.reads.boot);
    }

    /// `take_coming`, and `Driver::expect` with `Driver::prepare`.
    pub(crate) fn expect_until(&mut self, now: UtcMillis) {
        let coming = self.next_ticks.take_until(now.plus(LEAD));
        for (Coming { job, tick }, from) in asked_ahead(&coming, self.now().since(self.store_time())) {
            let job = self.jobs.iter().position(|known| known.name == *job).expect("a job of the file");
            self.alarms.insert((tick.instant(), job));
            if self.health.roster.stagger(&self.jobs[job], *tick).is_zero() {
                self.contests[job].call(*tick, from, now);
                self.alarms.insert((from, job));
            }
        }
    }

    /// How long this replica has nothing to do, by its own clocks.
    pub(crate) fn idle_for(&self) -> Duration {
        let (boot, now) = (self.reads.boot, self.now());
        let beat = (!self.beating).then_some(self.next_beat);
        let boots = self.keeps.iter().filter_map(|keep| keep.wake).chain(beat);
        let boots = boots.chain(self.chores.iter().map(|(at, _)| *at)).map(|at| at.since(boot));
        let planned = self.next_ticks.earliest().map(|at| at.minus(LEAD));
        let instants = self.alarms.first().map(|(at, _)| *at).into_iter().chain(planned);
        let asked = (self.resync && !self.beating).then_some(Duration::ZERO);
        boots.chain(instants.map(|at| at.since(now))).chain(asked).min().unwrap_or(BEAT_EVERY)
    }

    /// Abandons the run whose claim may have been applied, as `errand::abandon` does.
    pub(crate) fn give_back(&mut self, job: usize, doubt: Doubt) {
        self.do_chore(Chore::Abandon { job, doubt, tries: 0, then: None });
    }
}
