//! A replica: what it remembers of the store, what it waits for, and what it runs.

use std::sync::Arc;
use std::time::Duration;

use solocron::job::{Fence, OnInterrupt, RunId, Tick};
use solocron::lease::{Caller, Era, Finish, Lease, Record, Version};
use solocron::time::UtcMillis;

use crate::setting::{MIDDLE, STEP, Setting, era, node, shifted, time_of};
use crate::store::Store;

/// Whether a process goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Up {
    Awake,
    Frozen,
    Down,
}

/// A claim whose answer has not been heard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bid {
    pub(crate) run: RunId,
    pub(crate) tick: Tick,
    pub(crate) era: Era,
}

/// A lock that was granted, and the life of the store in which that was last confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lock {
    pub(crate) lease: Arc<Lease>,
    pub(crate) era: Era,
}

/// What a replica remembers of the record: what its last swap wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Known {
    pub(crate) record: Arc<Record>,
    pub(crate) version: Version,
    pub(crate) era: Era,
}

/// The end of a run, which is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub(crate) finish: Arc<Finish>,
    /// Whether the store has answered it.
    pub(crate) is_told: bool,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Replica {
    pub(crate) up: Up,
    pub(crate) is_cut_off: bool,
    /// Whether it still talks to the primary that was replaced.
    pub(crate) is_on_old: bool,
    /// Which of its lives this is: a reply to an earlier one is not heard.
    pub(crate) life: u8,
    /// The life of the store that it knows, and how far the store's clock is off.
    pub(crate) era: u8,
    offset: i8,
    /// Since which step it has seen neither a new era nor a step of the clock; before step 0, long ago.
    calm_since: Option<u8>,
    /// The latest store time heard, and the latest one of earlier eras.
    pub(crate) latest: UtcMillis,
    /// The world's time when that was.
    listened: UtcMillis,
    heard: UtcMillis,
    /// Whether its heartbeat is in the store's list.
    pub(crate) is_listed: bool,
    /// Whether the record is open in the present era, and was ever opened by this process.
    pub(crate) is_open: bool,
    pub(crate) is_known: bool,
    /// The newest mark that it was told.
    pub(crate) decided: UtcMillis,
    pub(crate) bid: Option<Bid>,
    pub(crate) known_cell: Option<Known>,
    /// What it runs; on disk, so that a new process can make an end of it.
    pub(crate) active: Option<Lock>,
    pub(crate) last: Option<End>,
}

impl Replica {
    /// A replica that started long ago.
    pub(crate) fn started(mark: UtcMillis) -> Self {
        Self {
            up: Up::Awake,
            is_cut_off: false,
            is_on_old: false,
            life: 0,
            era: 1,
            offset: 0,
            calm_since: None,
            latest: time_of(0),
            listened: time_of(0),
            heard: UtcMillis(0),
            is_listed: true,
            is_open: true,
            is_known: true,
            decided: mark,
            bid: None,
            known_cell: None,
            active: None,
            last: None,
        }
    }

    /// Whether it can ask the store.
    pub(crate) fn is_reachable(&self) -> bool {
        self.up == Up::Awake && !self.is_cut_off
    }

    /// Whether what it remembers has reached the store's present life.
    pub(crate) fn has_met(&self, store: &Store) -> bool {
        self.era == store.era && self.is_open && self.is_listed && store.cell.record.is_some()
    }

    /// A heartbeat: learns the store's era and clock. `world` is the world's time.
    pub(crate) fn listen(&mut self, setting: &Setting, store: &Store, step: u8, world: UtcMillis) {
        let is_new = self.era == 0;
        self.watches(setting, step, world);
        if self.era != store.era || !self.is_listed {
            self.heard = self.heard.max(self.latest);
            self.is_open = false;
            self.calm_since = Some(step);
        }
        if self.offset != store.offset || is_new {
            self.calm_since = Some(step);
        }
        (self.era, self.offset, self.is_listed, self.listened) = (store.era, store.offset, true, world);
        self.latest = self.latest.max(store.now(world));
    }

    /// What happened while it did not listen it has not seen: two steps of the clock may have undone each other.
    pub(crate) fn watches(&mut self, setting: &Setting, step: u8, world: UtcMillis) {
        if world.since(self.listened) > STEP && setting.watches {
            self.calm_since = Some(step);
        }
    }

    /// Forgets what makes no difference any more: calm that lasted long enough, and an end that the store will keep.
    pub(crate) fn forget_what_cannot_matter(&mut self, step: u8, longest: u8, may_lose: bool) {
        self.calm_since = self.calm_since.filter(|since| step - since <= longest);
        if !may_lose {
            self.last = self.last.take().filter(|end| !end.is_told);
        }
    }

    /// A new process on the old one's disk; it tells its last finish again unless `is_told` stays as it was.
    pub(crate) fn start_again(&mut self, tells_again: bool) {
        let old = self.clone();
        *self = Self {
            life: old.life + 1,
            era: 0,
            latest: UtcMillis(0),
            is_listed: true,
            is_open: false,
            is_known: false,
            active: old.active,
            last: old.last.map(|end| End { is_told: end.is_told && !tells_again, ..end }),
            is_cut_off: old.is_cut_off,
            is_on_old: old.is_on_old,
            ..Self::started(UtcMillis(0))
        };
    }

    /// The store's time as it reckons.
    pub(crate) fn store_time(&self, world: UtcMillis) -> UtcMillis {
        shifted(world, self.offset)
    }

    /// What goes along with its requests.
    pub(crate) fn caller(&self, setting: &Setting, who: usize, step: u8, world: UtcMillis) -> Caller {
        let since_middle = world.since(time_of(step));
        let watched = |since: u8| STEP * u32::from(step - since) + since_middle;
        Caller {
            node: node(who),
            expect: self.store_time(world),
            era: era(self.era),
            calm: self.calm_since.map_or(Duration::from_secs(3_600), watched),
            latest_store_time: self.heard,
            largest_lease: setting.known_lease(who),
            known_mark: Some(self.decided).filter(|seen| *seen > UtcMillis(0)),
            answered_mark: None,
            leapt_from: None,
            largest_fence: Fence(0),
        }
    }

    /// The tick that it would claim in the middle of a step: the newest one that is due, unless it is decided.
    pub(crate) fn candidate(&self, setting: &Setting, who: usize, step: u8) -> Option<Tick> {
        let world = time_of(step).plus(MIDDLE);
        // A clock that is ahead counts for all that the store's may say: only the store is to be relied upon.
        let wall = match setting.ahead {
            ahead if ahead > 0 && who == 0 => shifted(world, i8::try_from(ahead).expect("a small number")),
            _ => world.min(self.store_time(world)),
        };
        // A tick that was interrupted may run again although it is decided.
        let may_rerun = setting.on_interrupt == OnInterrupt::Rerun;
        setting.tick_at(wall).filter(|tick| may_rerun || tick.instant() > self.decided)
    }
}
