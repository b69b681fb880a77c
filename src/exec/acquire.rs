//! Decides whether `exec` requests its lock, waits, or gives up. Pure: a step takes an answer and the time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::hold::lock_request::{LockRequest, LockTerms, Won};
use crate::job::{Cause, JobSpec, Tick};
use crate::lease::{Abandon, Answer, Caller, Holder, Manual, Reply};
use crate::store::StoreError;
use crate::time::{BootInstant, UtcMillis};

/// A held lock is requested again after a random pause between these two: all that wait have the same chance to find
/// it free, and no two send requests in step.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(300));

/// How long an `exec` that does not wait for its lock tries to reach the store: as long as every other command.
const OUTAGE: Duration = Duration::from_secs(2);

/// A lock without a known holder frees itself at an instant that the store reports. `exec` waits this much longer.
const SLACK: Duration = Duration::from_secs(5);

/// A request that came too late, or that found a new era, is repeated at least this often.
const MISSES: u32 = 5;

/// The requests of one `exec` for its lock.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    /// The request of the run that would start.
    request: LockRequest,
    /// What the command sees as its tick: the time of the first request.
    tick: Option<Tick>,
    /// Whether a request is under way.
    under_way: bool,
    /// Until when to wait for a lock with a known holder.
    until: BootInstant,
    /// Until when to wait for a lock without a known holder.
    settled_by: Option<BootInstant>,
    /// When the first request was sent that the store did not answer, since it last answered one.
    failing_since: Option<BootInstant>,
    /// How many answers in a row required another try.
    misses: u32,
}

/// The holder of the lock, as far as `exec` knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// A run, which renews it.
    By(Holder),
    /// No run, but the lock is reserved for the rerun of an interrupted run, which goes first.
    ForRerun,
    /// No known run: the record is new or of another era, or its holder has been silent for a whole lease. The lock
    /// is free once that is certain.
    WithoutHolder,
}

/// What `exec` does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send a request for the lock at this instant.
    AskAt(BootInstant),
    /// At this instant read the store's clock and era, open the record, and request the lock.
    LearnAt(BootInstant),
    /// The lock is granted.
    Start,
    /// Give up.
    Leave(AcquireError),
}

/// Why `exec` gives up without its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquireError {
    /// A run holds it, or may hold it.
    Held(Held),
    /// The store does not answer, or not in time.
    Unreachable(StoreError),
    /// The record was written by a newer release.
    NewerSchema(u32),
}

impl Asking {
    /// Begins now; waits for a held lock until `until`.
    pub(crate) fn begin(until: BootInstant) -> Self {
        Self {
            request: LockRequest::new(),
            tick: None,
            under_way: false,
            until,
            settled_by: None,
            failing_since: None,
            misses: 0,
        }
    }

    /// Returns the request to send at `now`, by the store's clock. `job` is the job of the file that would run.
    pub(crate) fn ask(
        &mut self,
        caller: Caller,
        now: UtcMillis,
        lease: Duration,
        job: Option<&JobSpec>,
    ) -> Manual {
        self.under_way = true;
        self.request.sent_in(&caller.era);
        let tick = *self.tick.get_or_insert(Tick(now));
        // Whether to wait is decided here: a lock that is held is an answer, and makes no entry in the job's history.
        let rerun_deadline = job.and_then(|job| job.rerun_deadline(tick));
        Manual { rerun_deadline, ..self.request.manual(caller, tick, now, lease) }
    }

    /// The tick of the run; 0 before the first request.
    pub(crate) fn tick(&self) -> Tick {
        self.tick.unwrap_or(Tick(UtcMillis(0)))
    }

    /// Returns the lock that this reply grants; `None` if it grants none.
    pub(crate) fn won(&self, reply: &Reply, terms: LockTerms<'_>) -> Option<Won> {
        self.request.won(reply, self.tick(), Cause::Manual, terms)
    }

    /// Returns the lock that may have been granted without the grant being received.
    pub(crate) fn doubt(&self) -> Option<Abandon> {
        (self.request.unsure || self.under_way).then(|| self.request.abandon())
    }

    /// Whether `exec` no longer waits for a held lock.
    pub(crate) fn is_impatient(&self, now: BootInstant) -> bool {
        now >= self.until
    }

    /// Takes in an answer of the store. `held` returns the holder if the answer is that the lock is held. `chance` is
    /// between 0 and 1.
    pub(crate) fn answered(
        &mut self,
        answer: &Answer,
        held: impl FnOnce() -> Held,
        now: BootInstant,
        chance: f64,
    ) -> Next {
        if let Answer::Opened { .. } = answer {
            // An opened record is no answer to a request for the lock.
            return Next::AskAt(now);
        }
        self.under_way = false;
        self.failing_since = None;
        let misses = std::mem::take(&mut self.misses);
        match answer {
            Answer::Won { .. } => Next::Start,
            Answer::Held { by, frees_in } => {
                let is_own = self.request.is_held(by.as_ref());
                self.request.unsure &= is_own;
                let held = if is_own { Held::WithoutHolder } else { held() };
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
            // The grant was not received, and its run is over: this run can never get the lock again.
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
            Held::WithoutHolder => {
                let settled_by = *self.settled_by.get_or_insert(now.plus(frees_in).plus(SLACK));
                settled_by.max(self.until)
            }
        };
        if now >= limit {
            return Next::Leave(AcquireError::Held(held));
        }
        Next::AskAt(now.plus(pause).min(limit))
    }

    /// Takes in that the store did not answer a request sent at `asked`.
    pub(crate) fn failed(&mut self, error: &StoreError, asked: BootInstant, now: BootInstant) -> Next {
        self.request.unsure |= std::mem::take(&mut self.under_way) && error.may_have_been_applied();
        let since = *self.failing_since.get_or_insert(asked);
        let limit = since.plus(OUTAGE).max(self.until);
        if now >= limit {
            return Next::Leave(AcquireError::Unreachable(StoreError::NotSent(error.diagnosis().clone())));
        }
        Next::LearnAt(now.plus(PAUSE.1).min(limit))
    }

    /// Continues under a new run id. For a lock that was granted too late to start anything, and is given back.
    pub(crate) fn begin_anew(&mut self, now: BootInstant) -> Next {
        self.request = LockRequest::new();
        Next::AskAt(now)
    }
}

/// Returns a random number between 0 and 1.
pub(super) fn chance() -> f64 {
    let random = RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}
