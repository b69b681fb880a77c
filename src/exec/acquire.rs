//! Whether a guest asks for its lock, waits, or goes home. Pure: a step takes an answer and the time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::job::{Fence, RunId};
use crate::lease::{Answer, Holder};
use crate::store::StoreError;
use crate::time::{BootInstant, UtcMillis};

/// A held lock is asked for again after a pause between these two, which chance chooses: of those who wait, everyone has
/// the same prospect of finding it free, and no two ask in step.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(300));

/// A store that does not answer is given this long where the caller does not wait, as by every other command.
const OUTAGE: Duration = Duration::from_secs(2);

/// What nobody is known to hold frees itself by an instant that the store tells; it may be asked for this much longer.
const SLACK: Duration = Duration::from_secs(5);

/// A request that came too late, or to a store that has just begun another life, is made again this often at the least.
const MISSES: u32 = 5;

/// A guest's quest for its lock.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// The run that would start.
    run: RunId,
    /// Whether a request is under way.
    under_way: bool,
    /// Whether one that got no answer may have been granted.
    unsure: bool,
    /// A lock that somebody holds is waited for until then.
    until: BootInstant,
    /// A lock that nobody is known to hold is waited for until then.
    settled_by: Option<BootInstant>,
    /// When the first request was made that the store did not answer, since it last did.
    failing_since: Option<BootInstant>,
    /// How many answers in a row said to ask again.
    misses: u32,
}

/// Who holds the lock, as far as a guest knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// This run, which renews it.
    By(Holder),
    /// Nobody, and it is kept for a run of the job that was cut short and goes first.
    ForRerun,
    /// Nobody that is known: the record is new, or of another life of the store, or its holder was silent for a whole
    /// lease. It is free once that is sure.
    Nobody,
}

/// What a guest does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask at this instant.
    AskAt(BootInstant),
    /// Learn the store's clock and life at this instant, open the record, and ask.
    LearnAt(BootInstant),
    /// The lock is the guest's.
    Start { fence: Fence, tries: u32, started: UtcMillis },
    /// Go home.
    Leave(AcquireError),
}

/// Why a guest goes home without its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AcquireError {
    /// Somebody holds it, or may do so.
    Held(Held),
    /// The store does not answer, or not in time.
    Unreachable(StoreError),
    /// The record was written by a newer release.
    NewerSchema(u32),
}

impl Asking {
    /// A quest that begins now, and waits for a held lock until `until`.
    pub(super) fn begin(until: BootInstant) -> Self {
        Self {
            run: RunId::new(),
            under_way: false,
            unsure: false,
            until,
            settled_by: None,
            failing_since: None,
            misses: 0,
        }
    }

    /// A request goes out; for this run.
    pub(super) fn asks(&mut self) -> RunId {
        self.under_way = true;
        self.run
    }

    /// The run whose lock may have been granted without anybody having heard it.
    pub(super) fn doubt(&self) -> Option<RunId> {
        (self.unsure || self.under_way).then_some(self.run)
    }

    /// Whether a held lock is not waited for any more.
    pub(super) fn is_impatient(&self, now: BootInstant) -> bool {
        now >= self.until
    }

    /// The store answered; `held` says whose the lock is, where the answer is that it is held. `chance` is between 0 and 1.
    pub(super) fn answered(
        &mut self,
        answer: &Answer,
        held: impl FnOnce() -> Held,
        now: BootInstant,
        chance: f64,
    ) -> Next {
        if let Answer::Opened { .. } = answer {
            // That there is a record says nothing of the requests for the lock.
            return Next::AskAt(now);
        }
        self.under_way = false;
        self.failing_since = None;
        let misses = std::mem::take(&mut self.misses);
        match answer {
            Answer::Won { fence, tries, started } => {
                Next::Start { fence: *fence, tries: *tries, started: *started }
            }
            Answer::Held { by, frees_in } => {
                let is_own = by.as_ref().is_some_and(|holder| holder.run == self.run);
                self.unsure &= is_own;
                let held = if is_own { Held::Nobody } else { held() };
                self.wait(held, *frees_in, now, chance)
            }
            Answer::Unsynced | Answer::NewEra(_) if misses >= MISSES && now >= self.until => {
                let why = "every request took more than a second to reach it, or it was restarted meanwhile";
                Next::Leave(AcquireError::Unreachable(StoreError::NotSent(why.into())))
            }
            Answer::Unsynced | Answer::NewEra(_) => {
                self.misses = misses + 1;
                Next::LearnAt(now)
            }
            Answer::NewerSchema(schema) => Next::Leave(AcquireError::NewerSchema(*schema)),
            // A grant that nobody heard of is over: this run can never have the lock again.
            Answer::Decided { .. } => self.begin_anew(now),
            other => {
                let why = format!("it answered {}", other.name());
                Next::Leave(AcquireError::Unreachable(StoreError::NotSent(why.into())))
            }
        }
    }

    fn wait(&mut self, held: Held, frees_in: Duration, now: BootInstant, chance: f64) -> Next {
        let pause = PAUSE.0 + (PAUSE.1 - PAUSE.0).mul_f64(chance);
        let limit = match held {
            Held::By(_) | Held::ForRerun => {
                self.settled_by = None;
                self.until
            }
            Held::Nobody => {
                let settled_by = *self.settled_by.get_or_insert(now.plus(frees_in).plus(SLACK));
                settled_by.max(self.until)
            }
        };
        if now >= limit {
            return Next::Leave(AcquireError::Held(held));
        }
        Next::AskAt(now.plus(pause).min(limit))
    }

    /// The store did not answer what it was asked at `asked`.
    pub(super) fn failed(&mut self, error: &StoreError, asked: BootInstant, now: BootInstant) -> Next {
        self.unsure |= std::mem::take(&mut self.under_way) && error.may_have_been_applied();
        let since = *self.failing_since.get_or_insert(asked);
        let limit = since.plus(OUTAGE).max(self.until);
        if now >= limit {
            return Next::Leave(AcquireError::Unreachable(StoreError::NotSent(error.diagnosis().clone())));
        }
        Next::LearnAt(now.plus(PAUSE.1).min(limit))
    }

    /// The lock was granted too late to start anything, and is given back: asks for another run.
    pub(super) fn begin_anew(&mut self, now: BootInstant) -> Next {
        self.run = RunId::new();
        self.unsure = false;
        Next::AskAt(now)
    }
}

/// A number between 0 and 1 that nobody foresees.
pub(super) fn chance() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}
