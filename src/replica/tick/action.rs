//! What a contest says: which claim to make, what to do next, and what became known of a tick.

use crate::job::{Cause, Fence, JobSpec, NodeName, Overlap, Reason, RunId, Tick, Verdict};
use crate::lease::{Era, Holder, Lease, ScheduleHash};
use crate::time::{BootInstant, UtcMillis};

pub(crate) use crate::hold::give_back::Doubt;

/// A claim for one tick, under one run id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bid {
    /// The run that would start.
    pub run: RunId,
    /// The tick.
    pub tick: Tick,
    /// Why this replica cannot run the tick: nothing is granted to it.
    pub unfit: Option<Reason>,
    /// Whether a claim that got no answer may have been applied.
    pub(crate) unsure: bool,
    /// The life of the store, as the replica knew it, in which it was first claimed.
    pub(crate) era: Era,
    /// How often the store did not answer.
    pub(crate) failures: u32,
    /// Whether it waits for the lock, which is held, as long as its start deadline lets it.
    pub(crate) waited: bool,
    /// Whether it was last claimed as a tick that is caught up with, however late.
    pub(crate) catch_up: bool,
    /// Whether it still is what the job's definition asks for.
    pub(crate) wanted: Wanted,
}

/// What a definition of the job that was loaded after a bid was made leaves of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it.
    AsItIs,
    /// Its tick: claimed anew under another run id, as the claim tells of the former lease and policies.
    Anew,
    /// Nothing: its tick is none any more.
    NoMore,
}

impl Bid {
    /// A bid for the tick, under a run id of its own.
    pub(crate) fn new(tick: Tick) -> Self {
        Self {
            run: RunId::new(),
            tick,
            unfit: None,
            unsure: false,
            era: Era::default(),
            failures: 0,
            waited: false,
            catch_up: false,
            wanted: Wanted::AsItIs,
        }
    }

    /// What has to be given back when this bid is given up.
    pub(crate) fn doubt(&self) -> Doubt {
        Doubt { run: self.run, era: self.era.clone(), edited: self.wanted == Wanted::NoMore }
    }

    /// The lock is held: by another, or by this very bid in an earlier life of the store, which then stays in doubt.
    pub(crate) fn held(self, by: Option<&Holder>) -> Self {
        if by.is_some_and(|holder| holder.run == self.run) { self } else { self.sure() }
    }

    /// The store answered: nothing of this bid is in doubt any more.
    pub(crate) fn sure(self) -> Self {
        Self { unsure: false, failures: 0, ..self }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing until something happens.
    Nothing,
    /// Come back at this instant.
    WakeAt(UtcMillis),
    /// Claim; of the run before, which is given up, release what may have been granted.
    Claim {
        /// What to claim.
        bid: Bid,
        /// A run whose claim got no answer.
        instead_of: Option<Doubt>,
    },
    /// Start the run.
    Start {
        /// What was granted.
        won: Won,
        /// When the claim was sent.
        sent: BootInstant,
    },
    /// Release what may have been granted, and start nothing.
    GiveBack(Doubt),
    /// Learn the store's clock and era, and come back.
    Resync(UtcMillis),
}

/// A granted lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Won {
    /// The run.
    pub run: RunId,
    /// Its tick.
    pub tick: Tick,
    /// Its fencing token.
    pub fence: Fence,
    /// Why it was granted.
    pub cause: Cause,
    /// Which grant of the tick this is, from 1.
    pub tries: u32,
    /// When its run begins, by the store's clock: as it was granted, or at its tick's instant if that was ahead.
    pub started: UtcMillis,
    /// The life of the store in which it was granted.
    pub era: Era,
    /// The job's mark with the grant.
    pub mark: UtcMillis,
    /// Whether it waited for the end of another run.
    pub waited: bool,
}

impl Won {
    /// What the holder has to remember of the lock.
    pub(crate) fn lease(&self, spec: &JobSpec, node: &NodeName) -> Lease {
        Lease {
            run: self.run,
            fence: self.fence,
            tick: self.tick,
            length: spec.lease,
            node: node.clone(),
            cause: self.cause,
            tries: self.tries,
            started: self.started,
            mark: self.mark,
            sched: ScheduleHash::of(&spec.schedule),
            prev: spec.schedule.at_or_before(UtcMillis(self.tick.as_millis() - 1)),
        }
    }
}

/// What became known of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It was decided elsewhere, or earlier.
    Decided {
        /// The replica that has or had its run.
        by: Option<NodeName>,
        /// How it ended.
        how: Option<Verdict>,
    },
    /// Its run was cut short, and it does not run once more.
    NotRerun,
    /// This replica's claim decided that it does not run.
    Consumed(Verdict),
    /// It waits for the lock's holder.
    Held(Option<Holder>),
    /// The record was written by a newer release.
    NewerSchema(u32),
}

impl Finding {
    /// The holder whose proof of life would decide the tick: of a job that skips, and begun by the tick's instant. One
    /// that began later has nothing to prove, and where ticks wait, they wait for its end.
    pub(crate) fn awaits_proof(&self, spec: &JobSpec, tick: Tick) -> Option<&Holder> {
        let Self::Held(Some(holder)) = self else { return None };
        Some(holder).filter(|holder| spec.overlap == Overlap::Skip && holder.since <= tick.instant())
    }

    /// The holder whose place the tick takes.
    pub(crate) fn replaces(&self, spec: &JobSpec) -> Option<&Holder> {
        let Self::Held(Some(holder)) = self else { return None };
        Some(holder).filter(|_| spec.overlap == Overlap::Replace)
    }
}
