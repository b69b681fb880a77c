//! The store's answers. A lost lock is an answer; a store that cannot be reached is a store error, which is not defined here.

use std::time::Duration;

use crate::job::{Fence, NodeName, Reason, RunId, Verdict};
use crate::lease::{Ahead, Era, Pausing, Rerun};
use crate::time::{BootInstant, UtcMillis};

/// An answer, with the fields that every answer carries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reply {
    /// The store's time at the decision.
    pub now: UtcMillis,
    /// The instant up to which every tick of the job is decided; `None` while it has no record.
    pub mark: Option<UtcMillis>,
    /// The record's lease, or its wait: other replicas may hold the job's lock for longer than the lease in the caller's
    /// own file. `None` while there is no record.
    pub lease: Option<Duration>,
    /// The tick that may run once more after an interruption, if there is one. A replica that receives it claims that tick.
    pub rerun: Option<Rerun>,
    /// How long before the request was sent the granted or renewed lease began. Zero where the store decides; where the replica
    /// decides, its estimate of the store's time may be behind, and the lease then begins, and ends, earlier.
    pub lag: Duration,
    /// The answer.
    pub answer: Answer,
}

impl Reply {
    /// Returns when the lease of a request that was sent at this moment begins.
    pub fn leased_from(&self, sent: BootInstant) -> BootInstant {
        BootInstant(sent.0.saturating_sub(self.lag))
    }
}

/// The holder of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The holder's node name.
    pub node: NodeName,
    /// The run that holds the lock.
    pub run: RunId,
    /// When the run began, by the store's clock.
    pub since: UtcMillis,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The request came later than expected, or a clock was stepped. The caller reads the store's time and sends the
    /// request again.
    Unsynced,
    /// The store is in another era than the request says. The caller opens the record and sends the request again.
    NewEra(Era),
    /// A newer release wrote the record, with this schema. The caller must not claim anything.
    NewerSchema(u32),
    /// A record of this era exists, and it has the schedule.
    Opened {
        /// When the schedule replaced another: ticks up to this instant do not belong to it. Zero if it is the first.
        since: UtcMillis,
        /// The latest pause or resume of the job; `None` if there was none.
        pausing: Option<Pausing>,
        /// The ticks that a clock that was ahead decided before their instants.
        ahead: Option<Ahead>,
        /// The newest tick that has not come yet and will not run when it comes.
        closed: Option<UtcMillis>,
        /// How often ticks that had not come were opened again.
        reopened_ahead_count: u64,
    },
    /// The lock is the caller's.
    Won {
        /// The fencing token.
        fence: Fence,
        /// Which grant of the tick this is, from 1.
        tries: u32,
        /// When the run begins, by the store's clock: when it was granted, or at the tick's instant if that is later.
        started: UtcMillis,
    },
    /// The tick's instant has not come yet by the store's clock. A caller that cannot run the job gets this until the end
    /// of the tick's start deadline.
    Early {
        /// The time until that instant, or until the end of the start deadline.
        wait: Duration,
    },
    /// The lock is held or may be held, or is reserved for a rerun; or the decision waits for the caller to be calm, or for
    /// reports of what the store forgot.
    Held {
        /// The holder, if the store knows one.
        by: Option<Holder>,
        /// The time until the lock is free at the latest if it is not renewed, or until the wait is over.
        frees_in: Duration,
    },
    /// The tick was decided before this request, or the order of a manual run is not in the record any more.
    Decided {
        /// The replica that was granted the tick's run, if the record still has it.
        by: Option<NodeName>,
        /// How the run ended, or that it is running, if the record still has it.
        how: Option<Verdict>,
    },
    /// This request decided that the tick does not run.
    Consumed(Verdict),
    /// The lock is renewed for another lease.
    Renewed {
        /// Why the run shall be stopped: an operator requested it, or a newer tick replaces it. `None` if it shall not be
        /// stopped.
        stop: Option<Reason>,
    },
    /// The caller does not hold the lock any more, and must stop its run at once.
    Lost,
    /// The end of the run is recorded, and the lock is released.
    Finished,
    /// The request changes nothing: what it refers to has ended or was recorded before, or does not exist. Examples are a
    /// run, an order, a pause, and a mark that lies in the future.
    AlreadyDecided,
    /// The lock is released. The tick may be claimed again, or has its entry.
    Abandoned,
    /// The operator's request is in the record.
    Noted,
    /// No replica has ever opened the job's record, or the store has just forgotten it.
    NoRecord,
}

impl Answer {
    /// The names of all answers.
    pub const NAMES: [&'static str; 16] = [
        "unsynced",
        "new_era",
        "newer_schema",
        "opened",
        "won",
        "early",
        "held",
        "decided",
        "consumed",
        "renewed",
        "lost",
        "finished",
        "already_decided",
        "abandoned",
        "noted",
        "no_record",
    ];

    /// Returns the answer's name on the wire and in logs, one of `NAMES`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unsynced => "unsynced",
            Self::NewEra(_) => "new_era",
            Self::NewerSchema(_) => "newer_schema",
            Self::Opened { .. } => "opened",
            Self::Won { .. } => "won",
            Self::Early { .. } => "early",
            Self::Held { .. } => "held",
            Self::Decided { .. } => "decided",
            Self::Consumed(_) => "consumed",
            Self::Renewed { .. } => "renewed",
            Self::Lost => "lost",
            Self::Finished => "finished",
            Self::AlreadyDecided => "already_decided",
            Self::Abandoned => "abandoned",
            Self::Noted => "noted",
            Self::NoRecord => "no_record",
        }
    }
}
