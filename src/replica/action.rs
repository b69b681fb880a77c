//! What a contest says: which claim to make, what to do next, and what became known of a tick.

use crate::job::{Cause, Fence, NodeName, RunId, Tick, UtcMillis, Verdict};
use crate::lease::{BootInstant, Era, Holder};

/// A claim for one tick, under one run id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bid {
    /// The run that would start.
    pub run: RunId,
    /// The tick.
    pub tick: Tick,
    /// Whether a claim that got no answer may have been applied.
    pub(super) unsure: bool,
    /// The life of the store, as the replica knew it, in which it was first claimed.
    pub(super) era: Era,
    /// How often the store did not answer.
    pub(super) failures: u32,
}

impl Bid {
    /// A bid for the tick, under a run id of its own.
    pub(super) fn new(tick: Tick) -> Self {
        Self { run: RunId::new(), tick, unsure: false, era: Era::default(), failures: 0 }
    }

    /// What has to be given back when this bid is given up.
    pub(super) fn doubt(&self) -> Doubt {
        Doubt { run: self.run, era: self.era.clone() }
    }

    /// The store answered: nothing of this bid is in doubt any more.
    pub(super) fn sure(self) -> Self {
        Self { unsure: false, failures: 0, ..self }
    }
}

/// A run whose lock is to be given back: nothing was started, whether or not it was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The run.
    pub run: RunId,
    /// The life of the store, as the replica knew it, in which it was claimed.
    pub era: Era,
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
    /// When it was granted, by the store's clock.
    pub started: UtcMillis,
    /// The life of the store in which it was granted.
    pub era: Era,
    /// The job's mark with the grant.
    pub mark: UtcMillis,
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
    /// This replica's claim decided that it does not run.
    Consumed(Verdict),
    /// It waits for the lock's holder.
    Held(Option<Holder>),
    /// The record was written by a newer release.
    NewerSchema(u32),
}
