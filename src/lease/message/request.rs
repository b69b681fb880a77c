//! What a replica asks of the store, and what the store knows when it answers.

use std::time::Duration;

use crate::job::{Fence, NodeName, OnInterrupt, Overlap, Reason, RunId, Tick, Verdict};
use crate::lease::{Era, Lease, LeaseInstant, Operate, Pace, Pausing, ScheduleHash};
use crate::time::UtcMillis;

/// What the store knows at the moment of deciding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// The clock that ticks are compared with.
    pub now: UtcMillis,
    /// The clock that leases are measured by.
    pub lease_now: LeaseInstant,
    /// Its present life.
    pub era: Era,
    /// What it may forget.
    pub memory: Memory,
}

/// What a store may forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Acknowledged writes may be lost, and requests may arrive late (Redis).
    Forgetful,
    /// What was acknowledged stays, and requests are never under way (the embedded store).
    Durable,
}

/// What a replica remembers of the store, sent along with each request that may take the lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The replica that asks.
    pub node: NodeName,
    /// The store's time at which the request should arrive.
    pub expect: UtcMillis,
    /// The life of the store that the replica knows.
    pub era: Era,
    /// For how long the replica has seen neither a new era nor a step of the store's clock.
    pub calm: Duration,
    /// The latest store time that the replica heard in any earlier era, or before the store's clock was set back; 0 if none.
    pub heard: UtcMillis,
    /// The largest lease of this job that the replica has seen.
    pub largest_lease: Duration,
    /// The newest mark of this job that the replica has seen, in any era: ticks above it may have been forgotten.
    pub seen: Option<UtcMillis>,
    /// The newest mark of this job that an answer of the store has told the replica: a store that knows less went back to an
    /// older state.
    pub answered: Option<UtcMillis>,
    /// The store's time from which its clock leapt ahead, as far as the replica saw.
    pub leapt: Option<UtcMillis>,
    /// The largest fencing token of any job that the replica knows of; 0 if none. A store may have forgotten the job's own.
    pub largest_fence: Fence,
}

/// A request about one job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Make sure that there is a record of this era.
    Open(Open),
    /// Take the lock for a scheduled tick.
    Claim(Claim),
    /// Take the lock for a run that somebody asked for.
    Manual(Manual),
    /// Hold the lock for another lease.
    Renew(Renew),
    /// Record how the run ended, and release the lock.
    Finish(Finish),
    /// Release a lock under which nothing was started.
    Abandon(Abandon),
    /// Do what an operator wants.
    Operate(Operate),
}

/// Make sure that there is a record of this era, which knows the job's schedule: at start, at reload, and on a new era.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Open {
    /// Who asks, and what it remembers.
    pub caller: Caller,
    /// Schedule and zone of the job; [`ScheduleHash::none`] where it has none, and then no record is made; empty for who
    /// has no say in it.
    pub sched: ScheduleHash,
    /// Since when the replica has scheduled the job so, by the store's clock.
    pub since: UtcMillis,
    /// The replica's wall clock.
    pub wall: UtcMillis,
    /// Ticks that the replica knows to have run: those that a clock which was ahead has decided, as the record last told, or
    /// else the newest ones.
    pub ahead: Option<Ahead>,
    /// How often ticks that had not come were opened again when the replica learnt of these: a later time has opened them, too.
    pub returns_ahead: u64,
    /// The job's lease.
    pub lease: Duration,
    /// Whether all replicas that the caller hears of have had its file for a while: none takes a longer lease any more.
    pub agreed: bool,
    /// Whether the cluster's roster or this process has ever known the job.
    pub known: bool,
    /// The latest store time that the replica heard in any earlier era, or before it was forgotten; 0 if none. Unlike the
    /// caller's, it does not tell of a clock that was set back: what was decided by that is in the record still.
    pub earlier: UtcMillis,
    /// What was left of the former schedule when the replica ended it.
    pub dropped: Option<Dropped>,
    /// The last word about whether the job is paused that the replica has heard: a store may have forgotten it.
    pub pausing: Option<Pausing>,
}

/// Ticks that were decided one by one, perhaps before their time: those after one instant, up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// They come after this instant.
    pub after: UtcMillis,
    /// The newest of them comes at this instant.
    pub to: UtcMillis,
}

/// Ticks of a former schedule that were due when it ended, and not decided as far as the replica knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dropped {
    /// The newest of them.
    pub tick: Tick,
    /// They are all those after this instant.
    pub after: UtcMillis,
    /// How many they are, if they were counted.
    pub count: Option<u64>,
}

/// Take the lock for a scheduled tick.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Who asks, and what it remembers.
    pub caller: Caller,
    /// Id of the run that would start; asking again with the same id is harmless.
    pub run: RunId,
    /// The tick to run.
    pub tick: Tick,
    /// The schedule's tick before it.
    pub prev: Option<Tick>,
    /// How many ticks before this one are not decided, as far as the replica knows.
    pub gap: Option<Gap>,
    /// Why ticks before this one were not decided, if they were not.
    pub gap_reason: Reason,
    /// Schedule and zone of the job.
    pub sched: ScheduleHash,
    /// The job's lease.
    pub lease: Duration,
    /// How long after its instant the tick may still start.
    pub start_deadline: Duration,
    /// What happens when the previous run is still going.
    pub overlap: Overlap,
    /// What happens to a tick whose run was interrupted.
    pub on_interrupt: OnInterrupt,
    /// Whether this is the newest missed tick after an outage, to be run however late.
    pub catch_up: bool,
    /// The replica's wall clock.
    pub wall: UtcMillis,
    /// Why the replica cannot run the job now: then nothing is granted to it, and a tick whose start deadline is over is
    /// missed for this reason.
    pub unfit: Option<Reason>,
}

impl Claim {
    /// How long after its instant the tick is, by the clock that finds it less late.
    fn lateness(&self, now: UtcMillis) -> Duration {
        now.min(self.wall).since(self.tick.instant())
    }

    /// Whether the tick may not start any more.
    pub(crate) fn is_late(&self, now: UtcMillis) -> bool {
        self.lateness(now) > self.start_deadline
    }

    /// How long until the tick may not start any more.
    pub(crate) fn time_left(&self, now: UtcMillis) -> Duration {
        (self.start_deadline + Duration::from_millis(1)).saturating_sub(self.lateness(now))
    }

    /// How late a rerun may start that goes before this tick; none where the caller would not run it.
    pub(crate) fn reruns_within(&self) -> Option<Duration> {
        let reruns = self.on_interrupt == OnInterrupt::Rerun && self.unfit.is_none();
        reruns.then_some(self.start_deadline)
    }

    /// What happens when the previous run is still going: who would not run itself has nothing stopped.
    pub(crate) fn overlap(&self) -> Overlap {
        match (self.overlap, self.unfit) {
            (Overlap::Replace, Some(_)) => Overlap::Wait,
            (overlap, _) => overlap,
        }
    }
}

/// How many ticks are not decided before a claimed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The mark that the replica knows, or the beginning of the schedule where that is later; what follows holds for no other.
    pub after: UtcMillis,
    /// The schedule's newest tick up to there, if there is any.
    pub before: Option<Tick>,
    /// Ticks after that and before the claimed one.
    pub count: u64,
}

/// Take the lock for a run that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Manual {
    /// Who asks, and what it remembers.
    pub caller: Caller,
    /// Id of the run that would start.
    pub run: RunId,
    /// The tick that the run is for.
    pub tick: Tick,
    /// When somebody asked for it, by the store's clock.
    pub asked: UtcMillis,
    /// The order it obeys; taken by whoever finds it in the record. None: run here and now (`exec`).
    pub order: Option<RunId>,
    /// The lease to take.
    pub lease: Duration,
    /// What happens when a run is going on.
    pub overlap: Overlap,
    /// How late a rerun may start, which goes first, of a run that was cut short; none: it is not rerun.
    pub reruns_within: Option<Duration>,
}

/// Hold the lock for another lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Renew {
    /// The lock.
    pub lease: Lease,
    /// The store's time at which the request should arrive.
    pub expect: UtcMillis,
    /// As for a [`Caller`]: where the store forgot the lock, its tick may have been one of a clock that was ahead.
    pub leapt: Option<UtcMillis>,
}

impl Renew {
    /// For how long its answer is worth waiting for: as long as from one renewal to the next, so that several tries
    /// fit in before the run must stop.
    pub fn patience(&self) -> Duration {
        Pace::new(self.lease.length, Duration::ZERO).renew_every()
    }
}

/// Record how the run ended, and release the lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finish {
    /// The lock.
    pub lease: Lease,
    /// The life of the store, as the replica knew it, in which the lock was last granted or renewed; none where the store may have
    /// forgotten since.
    pub era: Era,
    /// Which attempt of the run was the last, from 1.
    pub attempt: u32,
    /// How it ended.
    pub verdict: Verdict,
    /// When it ended, by the store's clock as the replica reckons it: the store may be told, or hear, much later.
    pub ended: UtcMillis,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The signal, if one ended the command.
    pub signal: Option<i32>,
    /// The end of the output, at most 4 KiB.
    pub tail: String,
    /// As for [`Renew`].
    pub leapt: Option<UtcMillis>,
}

/// Release a lock under which certainly nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Abandon {
    /// The run that was claimed; whether it was granted need not be known.
    pub run: RunId,
    /// The life of the store, as the replica knew it, in which it was claimed.
    pub era: Era,
    /// Its tick is none any more, as the job was edited: it is missed, instead of claimable again.
    pub edited: bool,
}
