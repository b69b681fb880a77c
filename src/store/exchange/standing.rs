//! How jobs stand: the part of their records by which lists and metrics go, small enough to be read of all jobs.

use std::time::Duration;

use crate::job::{Fence, NodeName, RunId, Tick, Verdict};
use crate::lease::{Era, Leaps, LeaseInstant, Phase, Record, ScheduleHash};
use crate::time::UtcMillis;

/// The stored fields of a record that a standing is read from. `schema` comes first: a record without it is none. `tries` is
/// among them because no record is read without it.
pub(crate) const STANDING_FIELDS: [&str; 24] = [
    "schema",
    "fence",
    "mark",
    "until",
    "lease",
    "phase",
    "tries",
    "run",
    "tick",
    "started",
    "ended",
    "last",
    "reason",
    "owner",
    "sched",
    "since",
    "paused",
    "paused_at",
    "lost",
    "leaps",
    "ok",
    "ok_at",
    "bad",
    "bad_since",
];

/// How a job stands. Each field means what the field of this name means in a [`Record`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStanding {
    /// The schema of the record. Of a newer one than [`SCHEMA`](crate::lease::SCHEMA), the other fields may be empty.
    pub schema: u32,
    /// The newest fencing token that was granted.
    pub fence: Fence,
    /// Every tick at or before this instant is decided, except for those in an open leap.
    pub mark: UtcMillis,
    /// The spans of ticks below the mark that it passed without deciding them one by one.
    pub leaps: Leaps,
    /// Ticks after this instant, up to `mark`, may have run, and the store forgot.
    pub lost_after: Option<UtcMillis>,
    /// Until this instant, only the holder can have the lock.
    pub locked_until: LeaseInstant,
    /// The holder's lease; without a holder, how long the lock stays closed.
    pub lease: Duration,
    /// Whether `run` is running, as far as the store knows.
    pub phase: Phase,
    /// The run that holds the lock, or the last one that did.
    pub run: Option<RunId>,
    /// The tick of `run`.
    pub tick: Option<Tick>,
    /// When `run` began.
    pub started: Option<UtcMillis>,
    /// When `run` ended, or its last sign of life.
    pub ended: Option<UtcMillis>,
    /// How `run` ended.
    pub verdict: Option<Verdict>,
    /// The replica that was granted `run`.
    pub owner: Option<NodeName>,
    /// The job's schedule and time zone.
    pub schedule_hash: ScheduleHash,
    /// Ticks up to this instant are not due by the schedule.
    pub schedule_since: UtcMillis,
    /// Scheduled ticks that are decided before this instant are skipped.
    pub paused: Option<UtcMillis>,
    /// When the job was last paused or resumed.
    pub paused_at: Option<UtcMillis>,
    /// The newest tick whose run succeeded.
    pub last_success_tick: Option<Tick>,
    /// When the newest successful run ended.
    pub last_success_end: Option<UtcMillis>,
    /// How many ticks in a row did not succeed.
    pub failures_in_row: u64,
    /// When the first of these ended.
    pub failing_since: Option<UtcMillis>,
}

impl JobStanding {
    /// Returns the standing of a job with this record.
    pub fn of(record: &Record) -> Self {
        Self {
            schema: record.schema,
            fence: record.fence,
            mark: record.mark,
            leaps: record.leaps.clone(),
            lost_after: record.lost_after,
            locked_until: record.locked_until,
            lease: record.lease,
            phase: record.phase,
            run: record.run,
            tick: record.tick,
            started: record.started,
            ended: record.ended,
            verdict: record.verdict,
            owner: record.owner.clone(),
            schedule_hash: record.schedule_hash.clone(),
            schedule_since: record.schedule_since,
            paused: record.paused,
            paused_at: record.paused_at,
            last_success_tick: record.last_success_tick,
            last_success_end: record.last_success_end,
            failures_in_row: record.failures_in_row,
            failing_since: record.failing_since,
        }
    }

    /// Returns a record with these fields; the others are as in one that was never written.
    pub fn to_record(&self) -> Record {
        let standing = self.clone();
        Record {
            schema: standing.schema,
            fence: standing.fence,
            mark: standing.mark,
            leaps: standing.leaps,
            lost_after: standing.lost_after,
            locked_until: standing.locked_until,
            lease: standing.lease,
            phase: standing.phase,
            run: standing.run,
            tick: standing.tick,
            started: standing.started,
            ended: standing.ended,
            verdict: standing.verdict,
            owner: standing.owner,
            schedule_hash: standing.schedule_hash,
            schedule_since: standing.schedule_since,
            paused: standing.paused,
            paused_at: standing.paused_at,
            last_success_tick: standing.last_success_tick,
            last_success_end: standing.last_success_end,
            failures_in_row: standing.failures_in_row,
            failing_since: standing.failing_since,
            ..Record::empty(Era::default())
        }
    }

    /// Returns the instant up to which every tick is decided, by a clock that shows `now`: the mark, or the start of the first
    /// open leap.
    pub fn decided_by(&self, now: UtcMillis) -> UtcMillis {
        // The rule is the record's.
        self.to_record().decided_by(now)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_standing_is_read_from_its_own_fields_alone() {
        let now = UtcMillis(1_700_000_000_000);
        let record = Record {
            fence: Fence(7),
            mark: now.plus(Duration::from_secs(60)),
            leaps: "1700000000100-1700000060000".parse().expect("a leap"),
            lost_after: Some(now),
            locked_until: LeaseInstant(9),
            lease: Duration::from_secs(30),
            phase: Phase::Running,
            run: Some(RunId::new()),
            tick: Some(Tick(now)),
            tries: 2,
            started: Some(now),
            ended: Some(now),
            owner: NodeName::parse("n1").ok(),
            schedule_hash: ScheduleHash("a".into()),
            schedule_since: now,
            paused: Some(now),
            paused_at: Some(now),
            paused_why: Some("why".into()),
            last_success_tick: Some(Tick(now)),
            last_success_end: Some(now),
            failures_in_row: 3,
            failing_since: Some(now),
            ..Record::empty(Era("e".into()))
        };
        let mut fields: BTreeMap<String, String> =
            record.to_fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        fields.retain(|name, _| STANDING_FIELDS.contains(&name.as_str()));
        assert_eq!(fields.len(), STANDING_FIELDS.len(), "each is a field of a record");

        let read = Record::from_fields(&fields).expect("they are enough");

        let standing = JobStanding::of(&read);
        assert_eq!(standing, JobStanding::of(&record));
        assert_eq!(standing, JobStanding::of(&standing.to_record()));
        for at in [now, now.plus(Duration::from_secs(90))] {
            assert_eq!(standing.decided_by(at), record.decided_by(at), "{at:?}");
        }
    }
}
