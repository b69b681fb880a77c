//! What the store answers. Losing is an answer; an outage is an error of the store, not found here.

use std::time::Duration;

use crate::job::{Fence, NodeName, Reason, RunId, Verdict};
use crate::lease::{Ahead, Era, Pausing, Rerun};
use crate::time::UtcMillis;

/// An answer, with what every answer tells besides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reply {
    /// The store's time when it decided.
    pub now: UtcMillis,
    /// The newest decided instant of the job; `None` while it has no record.
    pub mark: Option<UtcMillis>,
    /// The record's lease, or how long it waits: others may hold the job's lock for longer than the caller's own file
    /// says. `None` while it has no record.
    pub lease: Option<Duration>,
    /// The tick that may run once more after an interruption, where there is one: whoever hears of it takes it up.
    pub rerun: Option<Rerun>,
    /// The answer.
    pub answer: Answer,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The replica.
    pub node: NodeName,
    /// Its run.
    pub run: RunId,
    /// Since when, by the store's clock.
    pub since: UtcMillis,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The request came later than expected, or a clock was stepped: learn the store's time, and ask again.
    Unsynced,
    /// The store lives another life than the request knows: open, and ask again.
    NewEra(Era),
    /// The record was written by a newer release: claim nothing.
    NewerSchema(u32),
    /// There is a record of this era, and it knows the schedule.
    Opened {
        /// When the schedule took the place of another: ticks up to there are none of it. Zero if it is the first.
        since: UtcMillis,
        /// The last word about whether the job is paused.
        pausing: Option<Pausing>,
        /// Ticks that were decided before their time, by a clock that was ahead.
        ahead: Option<Ahead>,
        /// The newest tick that has not come yet, and does not run when it comes.
        closed: Option<UtcMillis>,
        /// How often ticks that had not come were opened again.
        returns_ahead: u64,
    },
    /// The lock is the caller's.
    Won {
        /// The fencing token.
        fence: Fence,
        /// Which grant of the tick this is, from 1.
        tries: u32,
        /// When its run begins, by the store's clock: as it was granted, or at its tick's instant if that was ahead.
        started: UtcMillis,
    },
    /// The tick's instant has not come yet by the store's clock; or for who cannot run it, the end of its start deadline.
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
        /// Why the run shall be stopped, if it shall: an operator wants it, or a newer tick takes its place.
        stop: Option<Reason>,
    },
    /// The lock is not the caller's any more: stop at once.
    Lost,
    /// The end of the run is recorded, and the lock released.
    Finished,
    /// The end of the run was recorded before.
    AlreadyDecided,
    /// The lock is released; the tick may be claimed again, or has its record.
    Abandoned,
    /// What the operator wants is in the record.
    Noted,
    /// No replica has ever opened the job, or the store has just forgotten it.
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

    /// The answer's name on the wire and in logs, one of `NAMES`.
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
