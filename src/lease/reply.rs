//! What the store answers. Losing is an answer; an outage is an error of the store, not found here.

use std::time::Duration;

use crate::job::{Fence, NodeName, RunId, UtcMillis, Verdict};

use super::{Era, ScheduleHash};

/// An answer, with what every answer tells besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The store's time when it decided.
    pub now: UtcMillis,
    /// The newest decided instant of the job; `None` while it has no record.
    pub mark: Option<UtcMillis>,
    /// The answer.
    pub answer: Answer,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The replica.
    pub node: NodeName,
    /// Its run.
    pub run: RunId,
    /// Since when, by the store's clock.
    pub since: UtcMillis,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request came later than expected, or a clock was stepped: learn the store's time, and ask again.
    Unsynced,
    /// The store lives another life than the request knows: open, and ask again.
    NewEra(Era),
    /// The record was written by a newer release: claim nothing.
    NewerSchema(u32),
    /// There is a record of this era.
    Opened {
        /// Schedule and zone under which its mark was last raised.
        sched: ScheduleHash,
    },
    /// The lock is the caller's.
    Won {
        /// The fencing token.
        fence: Fence,
        /// Which grant of the tick this is, from 1.
        tries: u32,
        /// When it was granted, by the store's clock.
        started: UtcMillis,
    },
    /// The tick's instant has not come yet by the store's clock.
    Early {
        /// How long until it comes.
        wait: Duration,
    },
    /// Somebody holds the lock, or may do so.
    Held {
        /// The holder, where there is one.
        by: Option<Holder>,
        /// When the lock frees itself at the latest, if nobody renews it.
        frees_in: Duration,
    },
    /// The tick was decided before.
    Decided {
        /// The replica that had its run, where the record still tells.
        by: Option<NodeName>,
        /// How it ended, where the record still tells.
        how: Option<Verdict>,
    },
    /// This request decided that the tick does not run.
    Consumed(Verdict),
    /// The lock holds for another lease.
    Renewed {
        /// Whether somebody wants the run stopped.
        stop: bool,
    },
    /// The lock is not the caller's any more: stop at once.
    Lost,
    /// The end of the run is recorded, and the lock released.
    Finished,
    /// The end of the run was recorded before.
    AlreadyDecided,
    /// The lock is released; the tick may be claimed again, or has its record.
    Abandoned,
}

impl Answer {
    /// The answer's name on the wire and in logs.
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
        }
    }
}
