//! The record of a job: the only truth about its lock, its newest decided tick and its last run.

pub(super) mod codec;
pub(super) mod history_entry;
pub(super) mod leaps;
pub(super) mod lease;
mod marks;

use std::time::Duration;

use crate::job::{Cause, Fence, NodeName, Reason, RunId, Schedule, Tick, Verdict};
use crate::time::UtcMillis;

use super::rules::early::{EARLY_TOLERANCE, holds_from};
use super::{Holder, Leaps};

/// The shape of the record. A replica claims nothing from a record with a newer one.
pub const SCHEMA: u32 = 1;

/// An instant on the clock that leases are measured by, in milliseconds: the server's own for Redis,
/// `CLOCK_BOOTTIME` for the embedded store. Zero stands for "free".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LeaseInstant(pub i64);

impl LeaseInstant {
    /// Nobody holds the lock.
    pub const FREE: Self = Self(0);

    /// This much later; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(UtcMillis(self.0).plus(by).0)
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        UtcMillis(self.0).since(UtcMillis(earlier.0))
    }
}

/// One life of the server: it changes when the server may have lost acknowledged writes or its clock's origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Era(pub String);

/// Hash of a job's schedule and zone: two replicas with the same one compute the same ticks. Empty where nobody has said.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ScheduleHash(pub String);

impl ScheduleHash {
    /// The hash of this schedule, zone included.
    pub fn of(schedule: &Schedule) -> Self {
        Self(schedule.fingerprint().to_owned())
    }

    /// In place of a hash: the job is not enabled, or not in the file any more.
    pub fn none() -> Self {
        Self("none".to_owned())
    }
}

/// Whether somebody holds the lock to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// No run is going on.
    #[default]
    Idle,
    /// `run` is going on, as far as the store knows.
    Running,
}

/// What the store keeps per job, without a time limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Shape of this record; see [`SCHEMA`].
    pub schema: u32,
    /// The newest fencing token given out; 0 before the first.
    pub fence: Fence,
    /// The newest decided instant: ticks at or below it start nothing any more, but those in a leap that is open again.
    pub mark: UtcMillis,
    /// The mark that the record was made with, if by one who may not have known from where on ticks were forgotten; 0 once a
    /// tick was decided below it.
    pub made: UtcMillis,
    /// Ticks below the mark that it passed without deciding them one by one.
    pub leaps: Leaps,
    /// The newest tick that was decided, and is open again: its lock was given back, or an operator set the mark back.
    pub returned: UtcMillis,
    /// The newest of these that had not come when that was found: an operator set back a mark that lay ahead, or a clock was ahead when
    /// the lock was given back.
    pub returned_ahead: UtcMillis,
    /// How often that was found, as far as is known.
    pub returns_ahead: u64,
    /// Fencing tokens that are given out from now on are above this one, which a store that took over may have forgotten.
    pub floor: Fence,
    /// Nobody else is granted the lock before this instant.
    pub until: LeaseInstant,
    /// The holder's lease, or how long a record waits that was opened, or came from another life of the server.
    pub lease: Duration,
    /// Whether `run` is going on.
    pub phase: Phase,
    /// The holder's run, or the last one's.
    pub run: Option<RunId>,
    /// The tick of `run`.
    pub tick: Option<Tick>,
    /// How often `tick` was granted: 1 for its first run, 2 for its rerun.
    pub tries: u32,
    /// Why `run` was started.
    pub cause: Option<Cause>,
    /// When `run` began, by the store's clock: when it was granted, or at the tick's instant if that was still to come.
    pub started: Option<UtcMillis>,
    /// When `run` ended, by the store's clock; its last sign of life while it goes on, or where the holder vanished.
    pub ended: Option<UtcMillis>,
    /// How `run` ended.
    pub last: Option<Verdict>,
    /// The replica that was granted `run`.
    pub owner: Option<NodeName>,
    /// Which life of the server wrote this record.
    pub era: Era,
    /// The job's schedule and zone: by who opened the record last, or raised `mark`.
    pub sched: ScheduleHash,
    /// When `sched` took the place of another: ticks up to there were not due by it, and are neither run nor missed.
    pub since: UtcMillis,
    /// Scheduled ticks are skipped before this instant.
    pub paused: Option<UtcMillis>,
    /// When the job was last paused or resumed, by the store's clock.
    pub paused_at: Option<UtcMillis>,
    /// By whom.
    pub paused_by: Option<String>,
    /// Why, where that was said.
    pub paused_why: Option<String>,
    /// A manual run that somebody asked for, and nobody has taken yet.
    pub order: Option<RunId>,
    /// The tick that `order` is for.
    pub order_tick: Option<Tick>,
    /// When `order` was given, by the store's clock.
    pub order_at: Option<UtcMillis>,
    /// The last order that was taken.
    pub taken: Option<RunId>,
    /// The run that took it, or was skipped for it.
    pub taken_run: Option<RunId>,
    /// A run that its holder shall stop.
    pub stop: Option<RunId>,
    /// Why, where it is not an operator who asked for it.
    pub stop_for: Option<Reason>,
    /// The operator who asked for it, if it is one.
    pub stop_by: Option<String>,
    /// Ticks above this instant, up to `mark`, were passed over when the store forgot, and have no entry yet.
    pub lost: Option<UtcMillis>,
    /// Whoever remembers an earlier life of the server has until then to tell of it; before, no tick is decided not to
    /// run.
    pub settled: LeaseInstant,
}

impl Record {
    /// A record of a job that nobody has run: idle, with nothing decided.
    pub fn empty(era: Era) -> Self {
        Self {
            schema: SCHEMA,
            fence: Fence(0),
            mark: UtcMillis(0),
            made: UtcMillis(0),
            leaps: Leaps::default(),
            returned: UtcMillis(0),
            returned_ahead: UtcMillis(0),
            returns_ahead: 0,
            floor: Fence(0),
            until: LeaseInstant::FREE,
            lease: Duration::ZERO,
            phase: Phase::Idle,
            run: None,
            tick: None,
            tries: 0,
            cause: None,
            started: None,
            ended: None,
            last: None,
            owner: None,
            era,
            sched: ScheduleHash::default(),
            since: UtcMillis(0),
            paused: None,
            paused_at: None,
            paused_by: None,
            paused_why: None,
            order: None,
            order_tick: None,
            order_at: None,
            taken: None,
            taken_run: None,
            stop: None,
            stop_for: None,
            stop_by: None,
            lost: None,
            settled: LeaseInstant::FREE,
        }
    }

    /// A newer tick takes the place of what runs; who was to be stopped before is stopped for that.
    pub(super) fn replace_run(&mut self) {
        if self.stop != self.run {
            (self.stop, self.stop_for, self.stop_by) = (self.run, Some(Reason::Replaced), None);
        }
    }

    /// Why this run shall be stopped, if it shall.
    pub(super) fn stop_reason(&self, run: RunId) -> Option<Reason> {
        (self.stop == Some(run)).then(|| self.stop_for.unwrap_or(Reason::Operator))
    }

    /// Who opens the record has scheduled the job so since then.
    pub(super) fn reschedule(&mut self, sched: &ScheduleHash, since: UtcMillis, now: UtcMillis) {
        if *sched == ScheduleHash::default() {
            return;
        }
        if self.since > now.plus(EARLY_TOLERANCE) {
            // A clock that was set back since had put it ahead.
            self.since = since;
        }
        // A record without a schedule was made for other locks, if it is older, and nobody knew of ticks before it; or else
        // by one who has forgotten.
        let is_first = self.sched == ScheduleHash::default() && self.mark < since && self.lost.is_none();
        if is_first || !self.is_under(sched) {
            self.since = self.since.max(holds_from(since, self.mark));
        }
        self.sched = sched.clone();
    }

    /// A record that was made by a request without a schedule has that of the first claim: whoever starts later is none that
    /// schedules the job for the first time.
    pub(super) fn learn_schedule(&mut self, sched: &ScheduleHash) {
        if self.sched == ScheduleHash::default() {
            self.sched = sched.clone();
        }
    }

    /// Who knew the job before the record was made, by marks below the one that it was made with, has scheduled it `from` then
    /// on, and not only since whoever came first.
    pub(super) fn recall_since(
        &mut self,
        seen: Option<UtcMillis>,
        sched: &ScheduleHash,
        from: Option<UtcMillis>,
    ) {
        let seen = seen.filter(|seen| *seen < self.made && self.mark == self.made && self.sched == *sched);
        if let (Some(seen), Some(from)) = (seen, from) {
            self.since = self.since.min(from.max(seen));
        }
    }

    /// Whether no tick was decided since the record was made.
    pub(super) fn is_as_made(&self) -> bool {
        self.run.is_none() || self.mark == self.made
    }

    /// Whether the schedule is the one of the record, as far as that knows one.
    pub(super) fn is_under(&self, sched: &ScheduleHash) -> bool {
        self.sched == *sched || self.sched == ScheduleHash::default()
    }

    /// Who holds the lock, as far as the store knows.
    pub fn holder(&self) -> Option<Holder> {
        if !self.is_running() {
            return None;
        }
        Some(Holder { node: self.owner.clone()?, run: self.run?, since: self.started? })
    }

    /// Whether the record was missing, and its holder put it back: nobody has opened it since.
    pub fn is_put_back(&self) -> bool {
        self.era == Era::default()
    }

    /// Whether a run is going on, as far as the store knows.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }
}
