//! The requests that a replica sends to the store, and the state of the store at the decision.

use std::time::Duration;

use crate::job::{Fence, NodeName, OnInterrupt, Overlap, Reason, RunId, Tick, Verdict};
use crate::lease::{Era, Lease, LeaseInstant, Operate, Pace, Pausing, ScheduleHash};
use crate::time::UtcMillis;

/// The state of the store at the moment of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// The time that ticks are compared with.
    pub now: UtcMillis,
    /// The time that leases are measured by.
    pub lease_now: LeaseInstant,
    /// The present era.
    pub era: Era,
    /// What the store may forget.
    pub memory: Memory,
}

/// What a store may forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Acknowledged writes may be lost, and requests may arrive late (Redis).
    Forgetful,
    /// Acknowledged writes are never lost, and requests are never delayed on their way (the embedded store).
    Durable,
}

/// What a replica remembers of the store, sent along with each request that may take the lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The node name of the caller.
    pub node: NodeName,
    /// The store's time at which the request should arrive.
    pub expect: UtcMillis,
    /// The era that the replica knows.
    pub era: Era,
    /// The replica's calm: for how long it has seen one era with a steady clock.
    pub calm: Duration,
    /// The latest store time that the replica has seen in any earlier era, or that the store's clock may have shown before
    /// it was set back; 0 if none.
    pub latest_store_time: UtcMillis,
    /// The largest lease of this job that the replica has seen.
    pub largest_lease: Duration,
    /// The newest mark of this job that the replica knows, from any era. The store may have forgotten decisions on ticks
    /// above it.
    pub known_mark: Option<UtcMillis>,
    /// The newest mark of this job that an answer of the store carried. If the record knows less, the store went back to an
    /// older state.
    pub answered_mark: Option<UtcMillis>,
    /// The store's time from which its clock leapt ahead, as far as the replica saw; `None` if it did not.
    pub leapt_from: Option<UtcMillis>,
    /// The largest fencing token of any job that the replica knows; 0 if none. The store may have forgotten the job's own.
    pub largest_fence: Fence,
}

/// A request about one job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Makes sure that a record of this era exists.
    Open(Open),
    /// Requests the lock for a scheduled tick.
    Claim(Claim),
    /// Requests the lock for a manual run.
    Manual(Manual),
    /// Keeps the lock for another lease.
    Renew(Renew),
    /// Records how the run ended, and releases the lock.
    Finish(Finish),
    /// Releases a lock under which nothing was started.
    Abandon(Abandon),
    /// Changes the record for an operator.
    Operate(Operate),
}

/// The request to make sure that a record of this era exists and has the job's schedule: sent at start, at reload, and in a
/// new era.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Open {
    /// The replica, and what it remembers.
    pub caller: Caller,
    /// Hash of the job's schedule and time zone. [`ScheduleHash::none`] if the job has no schedule now: then no record is
    /// created. Empty if the caller does not schedule the job.
    pub schedule_hash: ScheduleHash,
    /// Since when the replica has scheduled the job by `schedule_hash`, by the store's clock.
    pub schedule_since: UtcMillis,
    /// The replica's wall clock.
    pub wall: UtcMillis,
    /// Ticks that the replica knows to have run, the oldest first: those that a clock which was ahead decided, as the record
    /// last reported them, or otherwise the newest ones. There are at most [`MOST_AHEAD`] spans of them.
    pub ahead: Vec<Ahead>,
    /// How often ticks that had not come had been opened again when the replica learned of `ahead`. Later reopenings have
    /// opened `ahead`, too.
    pub reopened_ahead_count: u64,
    /// The job's lease.
    pub lease: Duration,
    /// Whether all replicas in the caller's roster have had its file for a while: then no replica takes a longer lease any more.
    pub files_agree: bool,
    /// Whether the cluster's roster or this process has ever known the job.
    pub is_known_job: bool,
    /// The latest store time that the replica has seen in any earlier era, or before the store forgot; 0 if none. Unlike
    /// the caller's `latest_store_time`, it leaves out times before the clock was set back in this era: the record still has what was
    /// decided then. If that time is ahead of every correct clock, this is the last time of the previous era instead.
    pub latest_of_earlier_eras: UtcMillis,
    /// What was left of the former schedule when the replica ended it.
    pub dropped: Option<Dropped>,
    /// The latest pause or resume that the replica knows: the store may have forgotten it.
    pub pausing: Option<Pausing>,
}

/// The largest number of spans in [`Open::ahead`].
pub const MOST_AHEAD: usize = 32;

/// Ticks that were decided one by one, perhaps before their instants: those after one instant, up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// The ticks come after this instant.
    pub after: UtcMillis,
    /// The newest of the ticks comes at this instant.
    pub to: UtcMillis,
}

/// Ticks of a former schedule that were due when it ended and that, as far as the replica knows, are not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dropped {
    /// The newest of these ticks.
    pub tick: Tick,
    /// All ticks after this instant are included.
    pub after: UtcMillis,
    /// The number of these ticks; `None` if they were not counted.
    pub count: Option<u64>,
}

/// The request for the lock for a scheduled tick.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The replica, and what it remembers.
    pub caller: Caller,
    /// The id of the run that would start. A repeated claim with the same id has no further effect, except that it renews
    /// the lock.
    pub run: RunId,
    /// The tick to run.
    pub tick: Tick,
    /// The schedule's tick before it.
    pub prev: Option<Tick>,
    /// The number of undecided ticks before this one, as far as the replica knows; `None` if there are none or too many to
    /// count.
    pub gap: Option<Gap>,
    /// The reason recorded for ticks before this one that were not decided.
    pub gap_reason: Reason,
    /// Hash of the job's schedule and time zone.
    pub schedule_hash: ScheduleHash,
    /// The job's lease.
    pub lease: Duration,
    /// How long after its instant the tick may still start.
    pub start_deadline: Duration,
    /// The overlap policy: what happens while the previous run is still running.
    pub overlap: Overlap,
    /// What happens to a tick whose run was interrupted.
    pub on_interrupt: OnInterrupt,
    /// Whether this is the newest missed tick after an outage, which runs however late it is.
    pub catch_up: bool,
    /// The replica's wall clock.
    pub wall: UtcMillis,
    /// Why the replica cannot run the job now; `None` if it can. A replica that cannot is granted nothing, and a tick past
    /// its start deadline is recorded as missed for this reason.
    pub unfit: Option<Reason>,
    /// The runs of the job that live replicas list.
    pub live_runs: LiveRuns,
}

/// Runs of a job that live replicas list in their heartbeats, as far as a replica knows: their ends may not be recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LiveRuns {
    /// Runs that are running, as far as their replicas tell.
    pub running: Vec<RunId>,
    /// Runs that ended by themselves.
    pub ended: Vec<RunId>,
}

impl Claim {
    /// Returns how late the tick is, by whichever of the store's clock and the caller's wall clock finds it less late.
    fn lateness(&self, now: UtcMillis) -> Duration {
        now.min(self.wall).since(self.tick.instant())
    }

    /// Whether the tick is past its start deadline, by both clocks.
    pub(crate) fn is_late(&self, now: UtcMillis) -> bool {
        self.lateness(now) > self.start_deadline
    }

    /// Returns the time until the tick is past its start deadline.
    pub(crate) fn time_left(&self, now: UtcMillis) -> Duration {
        (self.start_deadline + Duration::from_millis(1)).saturating_sub(self.lateness(now))
    }

    /// Returns how late a rerun may start that goes before this tick; `None` if the caller would not run the rerun.
    pub(crate) fn rerun_deadline(&self) -> Option<Duration> {
        let reruns = self.on_interrupt == OnInterrupt::Rerun && self.unfit.is_none();
        reruns.then_some(self.start_deadline)
    }

    /// Returns the effective overlap policy. A replica that cannot run the job must not stop the current run, so `replace`
    /// becomes `wait`.
    pub(crate) fn overlap(&self) -> Overlap {
        match (self.overlap, self.unfit) {
            (Overlap::Replace, Some(_)) => Overlap::Wait,
            (overlap, _) => overlap,
        }
    }
}

/// The number of undecided ticks before a claimed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The mark that the replica knows, or the start of the schedule if that is later. The other fields hold for this
    /// instant only.
    pub after: UtcMillis,
    /// The schedule's newest tick at or before `after`; `None` if there is none.
    pub before: Option<Tick>,
    /// The number of ticks after `after` and before the claimed one.
    pub count: u64,
}

/// The request for the lock for a manual run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Manual {
    /// The replica, and what it remembers.
    pub caller: Caller,
    /// Id of the run that would start.
    pub run: RunId,
    /// The tick that the run is for.
    pub tick: Tick,
    /// When the run was requested, by the store's clock.
    pub asked: UtcMillis,
    /// The order that the run carries out. It is taken if the record still has it. `None`: a run here and now (`exec`).
    pub order: Option<RunId>,
    /// The lease to take.
    pub lease: Duration,
    /// The overlap policy: what happens while another run is running.
    pub overlap: Overlap,
    /// How late the rerun of an interrupted run may start, which goes first; `None` if it is not rerun.
    pub rerun_deadline: Option<Duration>,
}

/// The request to keep the lock for another lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Renew {
    /// The lock.
    pub lease: Lease,
    /// The store's time at which the request should arrive.
    pub expect: UtcMillis,
    /// As in [`Caller`]. If the store forgot the lock, its tick may be one that a clock which was ahead decided.
    pub leapt: Option<UtcMillis>,
}

impl Renew {
    /// Returns how long to wait for the answer: one renewal interval, so that several tries fit in before the run must stop.
    pub fn answer_limit(&self) -> Duration {
        Pace::new(self.lease.length, Duration::ZERO).renew_every()
    }
}

/// The request to record how a run ended, and to release the lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finish {
    /// The lock.
    pub lease: Lease,
    /// The era, as the replica knew it, in which the lock was last granted or renewed; empty if the store may have
    /// forgotten since.
    pub era: Era,
    /// The number of the run's last attempt, from 1.
    pub attempt: u32,
    /// How the run ended.
    pub verdict: Verdict,
    /// When the run ended, by the store's clock as the replica estimates it. The finish may reach the store much later.
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

/// The request to release a lock under which certainly nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Abandon {
    /// The run that was claimed. The caller need not know whether it was granted.
    pub run: RunId,
    /// The era, as the replica knew it, in which the run was claimed.
    pub era: Era,
    /// Whether the job was edited and the tick no longer exists: it is recorded as missed, instead of being claimable again.
    pub edited: bool,
}

impl Abandon {
    /// Returns the request for a run that was claimed in this era, and whose tick still exists.
    pub(crate) fn of(run: RunId, era: Era) -> Self {
        Self { run, era, edited: false }
    }
}
