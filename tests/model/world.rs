//! The whole world at one moment: the store, the replicas, what is under way between them, and the runs.

use std::sync::Arc;

use solocron::job::{Outcome, Overlap, Reason, RunId, Tick, Verdict};
use solocron::lease::Protection;
use solocron::lease::{Conditions, Era, Finish, LeaseInstant, Record, Reply, Request, Version};
use solocron::time::{BootInstant, UtcMillis};

use crate::replica::{End, Lock, Replica, Up};
use crate::run::{Run, State};
use crate::setting::{Faults, MIDDLE, STEP, Setting, era, sched, time_of};
use crate::store::Store;

/// A swap on its way to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HeldUp {
    pub(crate) conditions: Conditions,
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) reply: Arc<Reply>,
    /// Whether it arrived before: nobody waits for a reply.
    pub(crate) is_repeated: bool,
}

/// What of a request is under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// The request itself: the record has yet to be read.
    Asked,
    /// The swap that was decided.
    Swapping(Arc<HeldUp>),
    /// The reply.
    Answered(Arc<Reply>),
}

/// A request under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Letter {
    pub(crate) who: usize,
    pub(crate) life: u8,
    pub(crate) sent: BootInstant,
    /// Whether it goes to the primary that was replaced.
    pub(crate) is_to_old: bool,
    /// The life of the store that the replica knew when it sent this.
    pub(crate) era: Era,
    pub(crate) request: Arc<Request>,
    pub(crate) stage: Stage,
}

/// The world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) step: u8,
    /// At the beginning of a step replicas do what they do by themselves; everything else happens in its middle.
    pub(crate) is_middle: bool,
    pub(crate) store: Store,
    /// The primary that was replaced, while it serves.
    pub(crate) old: Option<Store>,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) under_way: Vec<Letter>,
    /// Every run that was started, in order of start.
    pub(crate) runs: Vec<Run>,
    /// Bit by bit, the steps at whose tick's instant a run was alive.
    pub(crate) covered: u32,
    /// Ticks that were skipped for overlap although no run was alive at their instant.
    pub(crate) wrongly_skipped: Vec<Tick>,
    /// Faults that may still happen.
    pub(crate) left: Faults,
    pub(crate) has_jumped: bool,
    /// The number of the next run id.
    pub(crate) next_run: u8,
}

impl World {
    /// Replicas that started long ago, and a job that was opened then and never run.
    pub(crate) fn new(setting: &Setting) -> Self {
        let long_ago = UtcMillis(time_of(0).0 - 600_000);
        let record = Record {
            mark: long_ago,
            locked_until: LeaseInstant(long_ago.0),
            lease: setting.largest_lease(),
            schedule_hash: sched(),
            ..Record::empty(era(1))
        };
        Self {
            step: 0,
            is_middle: true,
            store: Store::opened(record),
            old: None,
            replicas: setting.leases.iter().map(|_| Replica::started(long_ago)).collect(),
            under_way: Vec::new(),
            runs: Vec::new(),
            covered: 0,
            wrongly_skipped: Vec::new(),
            left: setting.faults,
            has_jumped: false,
            next_run: 1,
        }
    }

    /// The world's time; every replica's machine has counted as long.
    pub(crate) fn now(&self) -> UtcMillis {
        time_of(self.step).plus(if self.is_middle { MIDDLE } else { std::time::Duration::ZERO })
    }

    /// The same on a machine's clock.
    pub(crate) fn boot(&self) -> BootInstant {
        BootInstant(self.now().since(time_of(0)))
    }

    /// The next step begins.
    pub(crate) fn pass(&mut self, setting: &Setting) {
        (self.step, self.is_middle, self.has_jumped) = (self.step + 1, false, false);
        self.store.pass();
        for run in &mut self.runs {
            if run.state == State::Dying {
                run.state = State::Killed;
            }
        }
        self.stop_what_must_stop(setting);
        for who in 0..self.replicas.len() {
            self.routine(setting, who);
        }
        if self.runs.iter().any(Run::is_alive) {
            self.covered |= 1 << self.step;
        }
        self.is_middle = true;
        self.stop_what_must_stop(setting);
        self.forget_what_cannot_matter(setting);
    }

    /// Worlds that differ only in this have the same future, and are explored once.
    fn forget_what_cannot_matter(&mut self, setting: &Setting) {
        let longest = setting.leases.iter().max().copied().unwrap_or_default();
        let may_lose =
            self.left.losses > 0 || self.replicas.iter().any(|replica| replica.era != self.store.era);
        if !may_lose {
            self.store.need_no_copies();
        }
        for replica in &mut self.replicas {
            replica.forget_what_cannot_matter(self.step, longest, may_lose);
            // Word of what was decided reaches everybody who can be reached.
            let mark = self.store.cell.record.as_ref().map(|record| record.mark);
            if replica.is_reachable() {
                replica.decided = replica.decided.max(mark.unwrap_or_default());
            }
        }
        if setting.overlap != Overlap::Skip {
            self.covered = 0;
        }
        let replicas = &self.replicas;
        for run in self.runs.iter_mut().filter(|run| !run.is_alive() && replicas[run.who].active.is_none()) {
            run.counted_from = BootInstant(std::time::Duration::ZERO);
        }
    }

    /// Guards, and replicas that go on, stop runs whose deadline is over.
    fn stop_what_must_stop(&mut self, setting: &Setting) {
        let now = self.boot();
        let has_guard = setting.has(Protection::Guard);
        let replicas = &self.replicas;
        for run in &mut self.runs {
            let is_watched = has_guard || replicas[run.who].up == Up::Awake;
            if run.is_alive() && run.is_gone(now) && is_watched {
                run.state = State::Killed;
            }
        }
        for who in 0..self.replicas.len() {
            self.notice(who);
        }
    }

    /// A replica that goes on sees that its run is over. When it ended is not known: its last sign of life counts.
    pub(crate) fn notice(&mut self, who: usize) {
        let Some(lock) = self.replicas[who].active.clone() else { return };
        let known = self.runs.iter().find(|run| run.id == lock.lease.run);
        let Some(over) = known.filter(|run| !run.is_alive()) else { return };
        if self.replicas[who].up == Up::Awake {
            let last_sign = self.store.now(time_of(0).plus(over.counted_from.0));
            self.ended(who, &lock, Verdict::because(Outcome::Interrupted, Reason::LockLost), last_sign);
        }
    }

    /// A replica writes down how its run ended, and when by the store's clock.
    pub(crate) fn ended(&mut self, who: usize, lock: &Lock, verdict: Verdict, at: UtcMillis) {
        let finish = Arc::new(Self::finish(lock, verdict, at));
        let replica = &mut self.replicas[who];
        replica.active = None;
        replica.last = Some(End { finish, is_told: false });
    }

    /// How a replica tells the end of a run.
    pub(crate) fn finish(lock: &Lock, verdict: Verdict, ended: UtcMillis) -> Finish {
        Finish {
            lease: (*lock.lease).clone(),
            era: lock.era.clone(),
            attempt: 1,
            verdict,
            ended,
            exit_code: None,
            signal: None,
            tail: String::new(),
            leapt: None,
        }
    }

    /// Ends a run's process.
    pub(crate) fn kill(&mut self, id: RunId, state: State) {
        for run in self.runs.iter_mut().filter(|run| run.id == id && run.is_alive()) {
            run.state = state;
        }
    }

    /// A nonce that no version has.
    pub(crate) fn new_nonce(&mut self) -> u64 {
        let mut largest = 0;
        self.rename_nonces(|nonce| {
            largest = largest.max(nonce);
            nonce
        });
        largest + 1
    }

    /// Gives each version another nonce, and forgets remembered versions that no store can show any more: worlds that differ
    /// in these alone have the same future.
    pub(crate) fn number_versions(&mut self, setting: &Setting) {
        let mut shown: Vec<Version> = self.store.versions().map(|version| *version).collect();
        shown.extend(self.old.iter_mut().flat_map(Store::versions).map(|version| *version));
        if setting.has(Protection::FreshRead) && setting.has(Protection::SwapNonce) {
            for replica in &mut self.replicas {
                replica.known_cell = replica.known_cell.take().filter(|known| shown.contains(&known.version));
            }
        }
        let mut order: Vec<u64> = Vec::new();
        self.rename_nonces(|nonce| {
            let at = order.iter().position(|known| *known == nonce).unwrap_or_else(|| {
                order.push(nonce);
                order.len() - 1
            });
            at as u64
        });
    }

    fn rename_nonces(&mut self, mut name: impl FnMut(u64) -> u64) {
        let stores = std::iter::once(&mut self.store).chain(&mut self.old).flat_map(Store::versions);
        let known =
            self.replicas.iter_mut().filter_map(|replica| Some(&mut replica.known_cell.as_mut()?.version));
        let under_way = self.under_way.iter_mut().filter_map(|letter| match &mut letter.stage {
            Stage::Swapping(swap) => Arc::make_mut(swap).conditions.version.as_mut(),
            Stage::Asked | Stage::Answered(_) => None,
        });
        stores.chain(known).chain(under_way).for_each(|version| version.nonce = name(version.nonce));
    }

    /// Whether somebody was running at the tick's instant.
    pub(crate) fn is_covered(&self, tick: Tick) -> bool {
        let step = tick.instant().since(time_of(0)).as_millis() / STEP.as_millis();
        u32::try_from(step).is_ok_and(|step| step < 32 && self.covered & (1 << step) != 0)
    }
}
