//! What a job's `Contest` returns: which claim to send, what to do next, and what was learned of a tick.

use crate::job::{JobSpec, NodeName, Overlap, Reason, Tick, Verdict};
use crate::lease::{Abandon, Holder};
use crate::time::{BootInstant, UtcMillis};

pub(crate) use crate::hold::lock_request::{LockRequest, LockTerms, Won};

/// A claim for one tick, under one run id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bid {
    /// The request that the claims make.
    pub request: LockRequest,
    /// The tick.
    pub tick: Tick,
    /// Why this replica cannot run the tick: the store then grants it nothing. `None` if it can.
    pub unfit: Option<Reason>,
    /// How often in a row the store did not answer.
    pub(crate) failures: u32,
    /// Whether the tick waits for a held lock until its start deadline, as the job does not skip.
    pub(crate) waited: bool,
    /// Whether its last claim was for a tick that is caught up with, however late.
    pub(crate) catch_up: bool,
    /// What a reload has left of the bid.
    pub(crate) wanted: Wanted,
}

/// How a reload of jobs.toml affects a bid that was made before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The bid is unchanged.
    AsItIs,
    /// The tick is claimed again under another run id, because the claim carries the former lease and policies.
    Anew,
    /// The bid is dropped: the schedule that had its tick has ended.
    NoMore,
}

impl Bid {
    /// Returns a bid for the tick, under a new run id.
    pub(crate) fn new(tick: Tick) -> Self {
        Self {
            request: LockRequest::new(),
            tick,
            unfit: None,
            failures: 0,
            waited: false,
            catch_up: false,
            wanted: Wanted::AsItIs,
        }
    }

    /// Returns what to abandon when this bid is dropped.
    pub(crate) fn abandon(&self) -> Abandon {
        Abandon { edited: self.wanted == Wanted::NoMore, ..self.request.abandon() }
    }

    /// Returns the bid after the answer that the lock is held. It stays in doubt if the holder is its own run, which
    /// was granted in an earlier era.
    pub(crate) fn held(self, by: Option<&Holder>) -> Self {
        if self.request.is_held(by) { self } else { self.sure() }
    }

    /// Returns the bid after an answer: nothing of it is in doubt any more.
    pub(crate) fn sure(self) -> Self {
        Self { request: LockRequest { unsure: false, ..self.request }, failures: 0, ..self }
    }
}

/// What the driver does next for the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Wait until something happens.
    Nothing,
    /// Check the job again at this instant.
    WakeAt(UtcMillis),
    /// Send a claim. Before that, abandon the run that it replaces, which may have been granted.
    Claim {
        /// The bid to claim.
        bid: Bid,
        /// The run to abandon first: its claim got no answer.
        instead_of: Option<Abandon>,
    },
    /// Start the run.
    Start {
        /// The granted lock.
        won: Won,
        /// When the claim was sent; the run's deadline counts from then.
        sent: BootInstant,
    },
    /// Abandon what may have been granted, and start nothing.
    GiveBack(Abandon),
    /// Learn the store's clock and era, and check the job again at this instant.
    Resync(UtcMillis),
}

/// What this replica learned of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It was decided before: by another replica, or by an earlier claim.
    Decided {
        /// The replica that has or had its run, if the record still shows it.
        by: Option<NodeName>,
        /// How it ended, if the record still shows it.
        how: Option<Verdict>,
    },
    /// Its run was interrupted, and is not run once more.
    NotRerun,
    /// This replica's claim decided that it does not run.
    Consumed(Verdict),
    /// The lock is not free; `None` if it is closed without a known holder.
    Held(Option<Holder>),
    /// A newer release wrote the record, with this schema.
    NewerSchema(u32),
}

impl Finding {
    /// Returns the holder whose renewal would decide the tick (rule 12): the job skips, and the run began by the tick's
    /// instant. A renewal proves nothing for a run that began later; and where the job waits, the tick waits for the
    /// run's end.
    pub(crate) fn awaits_proof(&self, spec: &JobSpec, tick: Tick) -> Option<&Holder> {
        let Self::Held(Some(holder)) = self else { return None };
        Some(holder).filter(|holder| spec.overlap == Overlap::Skip && holder.since <= tick.instant())
    }

    /// Returns the holder whose run the tick replaces.
    pub(crate) fn replaces(&self, spec: &JobSpec) -> Option<&Holder> {
        let Self::Held(Some(holder)) = self else { return None };
        Some(holder).filter(|_| spec.overlap == Overlap::Replace)
    }
}
