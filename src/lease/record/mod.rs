//! The record of a job: the only truth about its lock, its newest decided tick and its last run.

pub(super) mod codec;
pub(super) mod history_entry;
pub(super) mod leaps;
pub(super) mod lease;
mod marks;
mod successes;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{Cause, Fence, NodeName, Reason, RunId, Schedule, Tick, Verdict};
use crate::time::UtcMillis;

use super::rules::early::{EARLY_TOLERANCE, holds_from};
use super::{Holder, Leaps};

/// The schema of the records that this release writes. A replica claims nothing from a record with a newer one.
pub const SCHEMA: u32 = 1;

/// An instant on the clock that leases are measured by, in milliseconds: the server's own clock for Redis, `CLOCK_BOOTTIME`
/// for the embedded store. Zero stands for "free".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LeaseInstant(pub i64);

impl LeaseInstant {
    /// The lock is free.
    pub const FREE: Self = Self(0);

    /// Returns the instant that is `by` later; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(UtcMillis(self.0).plus(by).0)
    }

    /// Returns the instant that is `by` earlier; saturates.
    #[must_use]
    pub(crate) fn minus(self, by: Duration) -> Self {
        Self(UtcMillis(self.0).minus(by).0)
    }

    /// Returns how long after `earlier` this is; zero if it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        UtcMillis(self.0).since(UtcMillis(earlier.0))
    }
}

/// An era of the store: it changes when the store may have lost acknowledged writes, or when its lease clock started again.
/// Empty in a record that its holder put back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Era(pub String);

/// Hash of a job's schedule and time zone: replicas with the same hash compute the same ticks. Empty where none was set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ScheduleHash(pub String);

impl ScheduleHash {
    /// Returns the hash of this schedule and its time zone.
    pub fn of(schedule: &Schedule) -> Self {
        Self(schedule.fingerprint().to_owned())
    }

    /// Returns the value that stands in place of a hash: the job is not enabled, or not in the file any more.
    pub fn none() -> Self {
        Self("none".to_owned())
    }
}

/// Whether a run holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// No run is running.
    #[default]
    Idle,
    /// `run` is running, as far as the store knows.
    Running,
}

/// The record that the store has of a job. It never expires.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// The schema of this record; see [`SCHEMA`].
    pub schema: u32,
    /// The newest fencing token that was granted; 0 before the first.
    pub fence: Fence,
    /// Every tick at or before this instant is decided, except for those in an open leap.
    pub mark: UtcMillis,
    /// The mark that the record was created with; 0 if its holder put it back, or once a tick at or below that mark was
    /// decided. While it equals `mark`, no tick was decided since, and a replica that knew the job before may still report
    /// from which instant on ticks were forgotten.
    pub created_mark: UtcMillis,
    /// The spans of ticks below the mark that it passed without deciding them one by one.
    pub leaps: Leaps,
    /// The newest tick that was decided and then opened again: its lock was abandoned, or its leap was opened. A replica
    /// that was told a mark up to here does not conclude from it that the store went back.
    pub reopened: UtcMillis,
    /// The newest tick that was opened again before its instant: an operator set back a mark that lay in the future, or a
    /// clock was ahead when the lock was abandoned.
    pub reopened_ahead: UtcMillis,
    /// How often `reopened_ahead` was set, as far as is known.
    pub reopened_ahead_count: u64,
    /// New fencing tokens are above this one as well: tokens up to it may have been granted and then forgotten by the store.
    pub floor: Fence,
    /// Until this instant, only the holder can have the lock.
    pub locked_until: LeaseInstant,
    /// The holder's lease. Without a holder: how long the lock stays closed after the record was created, or came from
    /// another era.
    pub lease: Duration,
    /// Whether `run` is running.
    pub phase: Phase,
    /// The run that holds the lock, or the last one that did.
    pub run: Option<RunId>,
    /// The tick of `run`.
    pub tick: Option<Tick>,
    /// How often `tick` was granted: 1 for its first run, 2 for its rerun.
    pub tries: u32,
    /// Why `run` was started.
    pub cause: Option<Cause>,
    /// When `run` began, by the store's clock: when it was granted, or at the tick's instant if that is later.
    pub started: Option<UtcMillis>,
    /// When `run` ended, by the store's clock; its last sign of life while it is running, or if its holder disappeared.
    pub ended: Option<UtcMillis>,
    /// How `run` ended.
    pub verdict: Option<Verdict>,
    /// The replica that was granted `run`.
    pub owner: Option<NodeName>,
    /// The era in which the record was last opened or claimed.
    pub era: Era,
    /// The job's schedule and time zone, as the last open or the last rise of `mark` set it.
    pub schedule_hash: ScheduleHash,
    /// When `schedule_hash` replaced another schedule: ticks up to this instant were not due by it, and are neither run nor missed.
    pub schedule_since: UtcMillis,
    /// Scheduled ticks that are decided before this instant are skipped.
    pub paused: Option<UtcMillis>,
    /// When the job was last paused or resumed, by the store's clock.
    pub paused_at: Option<UtcMillis>,
    /// The operator who paused or resumed it.
    pub paused_by: Option<String>,
    /// The operator's reason, if one was given.
    pub paused_why: Option<String>,
    /// A requested manual run that no run has taken yet.
    pub order: Option<RunId>,
    /// The tick that `order` is for.
    pub order_tick: Option<Tick>,
    /// When `order` was given, by the store's clock.
    pub order_at: Option<UtcMillis>,
    /// The last order that was taken.
    pub order_taken: Option<RunId>,
    /// The run that took it, or that was skipped for it.
    pub order_taken_by: Option<RunId>,
    /// The run that its holder shall stop.
    pub stop_run: Option<RunId>,
    /// Why it shall stop; `None` if an operator requested it.
    pub stop_reason: Option<Reason>,
    /// The operator who requested it, if it was one.
    pub stop_requested_by: Option<String>,
    /// Ticks after this instant, up to `mark`, may have run, and the store forgot: they have no entry yet. If this equals
    /// `mark`, no such tick is left.
    pub lost_after: Option<UtcMillis>,
    /// Until this instant, replicas may report what the store forgot, and no tick is decided not to run.
    pub settles_at: LeaseInstant,
    /// The newest tick that succeeded. It never goes back.
    pub last_success_tick: Option<Tick>,
    /// The latest end of a run that succeeded, by the store's clock. It never goes back.
    pub last_success_end: Option<UtcMillis>,
    /// How many ticks in a row did not succeed since then: failed, timed out, interrupted, missed or unknown.
    /// Skipped ticks and killed runs do not count.
    pub failures_in_row: u64,
    /// The end of the first of them, by the store's clock.
    pub failing_since: Option<UtcMillis>,
}

impl Record {
    /// Returns the record of a job that was never run: idle, with nothing decided.
    pub fn empty(era: Era) -> Self {
        Self {
            schema: SCHEMA,
            fence: Fence(0),
            mark: UtcMillis(0),
            created_mark: UtcMillis(0),
            leaps: Leaps::default(),
            reopened: UtcMillis(0),
            reopened_ahead: UtcMillis(0),
            reopened_ahead_count: 0,
            floor: Fence(0),
            locked_until: LeaseInstant::FREE,
            lease: Duration::ZERO,
            phase: Phase::Idle,
            run: None,
            tick: None,
            tries: 0,
            cause: None,
            started: None,
            ended: None,
            verdict: None,
            owner: None,
            era,
            schedule_hash: ScheduleHash::default(),
            schedule_since: UtcMillis(0),
            paused: None,
            paused_at: None,
            paused_by: None,
            paused_why: None,
            order: None,
            order_tick: None,
            order_at: None,
            order_taken: None,
            order_taken_by: None,
            stop_run: None,
            stop_reason: None,
            stop_requested_by: None,
            lost_after: None,
            settles_at: LeaseInstant::FREE,
            last_success_tick: None,
            last_success_end: None,
            failures_in_row: 0,
            failing_since: None,
        }
    }

    /// Requests that the current run stops because a newer tick replaces it. A stop that was requested before keeps its reason.
    pub(super) fn replace_run(&mut self) {
        if self.stop_run != self.run {
            (self.stop_run, self.stop_reason, self.stop_requested_by) =
                (self.run, Some(Reason::Replaced), None);
        }
    }

    /// Withdraws the request to stop a run. `stop_requested_by` stays as it is: it means nothing without `stop_run`.
    pub(super) fn clear_stop(&mut self) {
        (self.stop_run, self.stop_reason) = (None, None);
    }

    /// Returns why this run shall be stopped; `None` if it shall not.
    pub(super) fn stop_reason(&self, run: RunId) -> Option<Reason> {
        (self.stop_run == Some(run)).then(|| self.stop_reason.unwrap_or(Reason::Operator))
    }

    /// Sets the schedule of the record: the replica that opens the record has used `schedule_hash` since `since`. An empty hash
    /// changes nothing.
    pub(super) fn reschedule(&mut self, schedule_hash: &ScheduleHash, since: UtcMillis, now: UtcMillis) {
        if *schedule_hash == ScheduleHash::default() {
            return;
        }
        if self.schedule_since > now.plus(EARLY_TOLERANCE) {
            // A clock that was ahead, and was set back since, had put it into the future.
            self.schedule_since = since;
        }
        // A record without a schedule that is older than this schedule, and has lost no tick, was created for other locks
        // (`exec`), and no replica knew of ticks before it: then this schedule is the first. Otherwise the caller that
        // created it had forgotten the schedule.
        let is_first =
            self.schedule_hash == ScheduleHash::default() && self.mark < since && self.lost_after.is_none();
        if is_first || !self.is_under(schedule_hash) {
            self.schedule_since = self.schedule_since.max(holds_from(since, self.mark));
        }
        self.schedule_hash = schedule_hash.clone();
    }

    /// Stores the schedule of the first claim in a record that was created without one (for example by `exec`). Otherwise a
    /// replica that starts later would count as scheduling the job for the first time, and would skip its due ticks.
    pub(super) fn learn_schedule(&mut self, schedule_hash: &ScheduleHash) {
        if self.schedule_hash == ScheduleHash::default() {
            self.schedule_hash = schedule_hash.clone();
        }
    }

    /// Moves `schedule_since` back to `from`, but not before `known_mark`, for a replica that knew the job before the record was
    /// created: `known_mark`, the newest mark that it knows, is below `created_mark`. Otherwise the schedule would apply only
    /// since the first replica opened the record.
    pub(super) fn merge_since(
        &mut self,
        known_mark: Option<UtcMillis>,
        schedule_hash: &ScheduleHash,
        from: Option<UtcMillis>,
    ) {
        let known_mark = known_mark.filter(|known| {
            *known < self.created_mark
                && self.mark == self.created_mark
                && self.schedule_hash == *schedule_hash
        });
        if let (Some(known), Some(from)) = (known_mark, from) {
            self.schedule_since = self.schedule_since.min(from.max(known));
        }
    }

    /// Whether the record was never granted, or no tick was decided since it was created.
    pub(super) fn is_as_created(&self) -> bool {
        self.run.is_none() || self.mark == self.created_mark
    }

    /// Whether `schedule_hash` is the record's schedule, or the record has none.
    pub(super) fn is_under(&self, schedule_hash: &ScheduleHash) -> bool {
        self.schedule_hash == *schedule_hash || self.schedule_hash == ScheduleHash::default()
    }

    /// Returns the holder of the lock, as far as the store knows.
    pub fn holder(&self) -> Option<Holder> {
        if !self.is_running() {
            return None;
        }
        Some(Holder { node: self.owner.clone()?, run: self.run?, since: self.started? })
    }

    /// Whether the record was missing and its holder put it back, and no replica has opened it since.
    pub fn is_put_back(&self) -> bool {
        self.era == Era::default()
    }

    /// Whether a run is running, as far as the store knows.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }
}
