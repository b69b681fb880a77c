//! A job as the store knows it: its record and its newest entries, beside what jobs.toml says about it.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, JobSpec, Outcome, RunId, Tick};
use crate::lease::{HistoryEntry, Record};
use crate::time::UtcMillis;
use crate::view::history::{TickView, count};

use super::definition::{Definition, KnownJob};

/// The data of a job, or why it cannot be read.
pub(crate) type Readable<T> = Result<T, String>;

/// One job.
#[derive(Debug, Clone)]
pub(crate) struct JobState {
    /// Its name.
    pub(crate) name: JobName,
    /// What jobs.toml says about it.
    pub(crate) definition: Definition,
    /// Its record, if it has one.
    pub(crate) record: Option<Record>,
    /// Its newest entries, oldest first.
    pub(crate) entries: Vec<HistoryEntry>,
    /// Whether the store may have older ones. The board tells it of the jobs that a page shows.
    pub(crate) has_older: bool,
    /// Why its record, or its entries, cannot be read.
    pub(crate) unread: Option<String>,
}

/// A tick that has not been decided for this long waits for something.
const WAITS_AFTER: Duration = Duration::from_secs(3);

/// How long after its last tick a job that the file does not name belongs to the current state: removed jobs, and locks of
/// `exec`, are never deleted from the store.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);

impl JobState {
    /// Returns the state of a job from what was read of it: its record, and its newest entries, oldest first.
    pub(crate) fn of(
        job: KnownJob,
        record: Readable<Option<Record>>,
        entries: Readable<Vec<HistoryEntry>>,
    ) -> Self {
        let unread = record.as_ref().err().or(entries.as_ref().err()).cloned();
        let KnownJob { name, definition } = job;
        let (record, entries) = (record.unwrap_or_default(), entries.unwrap_or_default());
        Self { name, definition, record, entries, has_older: false, unread }
    }

    /// Returns the instant before which its history was not read; `None` if all of it was.
    pub(crate) fn read_from(&self) -> Option<UtcMillis> {
        let first_tick = |entry: &HistoryEntry| {
            entry.after.map_or(entry.tick.instant(), |after| UtcMillis(after.0.saturating_add(1)))
        };
        self.has_older.then(|| self.entries.first().map_or(UtcMillis(i64::MAX), first_tick))
    }

    /// Returns the whole definition; `None` if the file has no valid one.
    pub(crate) fn spec(&self) -> Option<&Arc<JobSpec>> {
        self.definition.spec()
    }

    /// Whether it has no record, though replicas open one for every job that is enabled.
    pub(crate) fn lacks_record(&self) -> bool {
        self.spec().is_some_and(|spec| spec.enabled) && self.record.is_none() && self.unread.is_none()
    }

    /// Whether the job belongs to the current state of the cluster: the file names it, or may name it, or it was active
    /// lately.
    pub(crate) fn is_of_now(&self, now: UtcMillis) -> bool {
        let was_lately = |at: UtcMillis| now.since(at) <= LATELY;
        let record = self.record.as_ref();
        !matches!(self.definition, Definition::Absent)
            || self.running().is_some()
            || record.is_some_and(|record| record.paused > Some(now))
            || record.and_then(|record| record.ended).is_some_and(was_lately)
            || self.decided().next_back().is_some_and(|tick| was_lately(tick.ended()))
    }

    /// Returns the oldest tick that is not decided, which may not have come yet; `None` unless the replicas
    /// use the schedule of the local jobs.toml.
    pub(crate) fn undecided(&self, now: UtcMillis) -> Option<(&JobSpec, Tick)> {
        let record = self.record.as_ref()?;
        let spec = self.by_this_schedule(record)?;
        // Ticks below a mark that a wrong clock set may be open again: these are not decided.
        let decided = record.decided_by(now).max(record.schedule_since.min(now));
        Some((spec, spec.schedule.next_after(decided)?))
    }

    /// Whether a tick should have started by now, and no run is in its way.
    pub(crate) fn waits(&self, now: UtcMillis) -> bool {
        let is_due = |(_, tick): (&JobSpec, Tick)| now.since(tick.instant()) > WAITS_AFTER;
        self.running().is_none() && self.undecided(now).is_some_and(is_due)
    }

    /// Returns the definition, if the job is enabled and the replicas use the schedule of the local
    /// jobs.toml.
    pub(crate) fn by_this_schedule(&self, record: &Record) -> Option<&JobSpec> {
        let spec = self.spec()?;
        (spec.enabled && record.schedule_hash.0 == spec.schedule.fingerprint()).then_some(spec)
    }

    /// Whether its newest ticks did not succeed, as its record counts them.
    pub(crate) fn is_failing(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.failures_in_row > 0)
    }

    /// Whether no run of it succeeded, as far as the store remembers.
    pub(crate) fn has_never_succeeded(&self) -> bool {
        let is_success = |entry: &HistoryEntry| entry.outcome == Outcome::Succeeded;
        !self.entries.iter().any(is_success)
            && self.record.as_ref().is_some_and(|record| record.last_success_end.is_none())
    }

    /// Returns the decided ticks, and then the current run.
    pub(crate) fn past(&self) -> impl Iterator<Item = TickView> {
        self.decided().chain(self.running())
    }

    /// Returns the current run, as far as the store knows.
    pub(crate) fn running(&self) -> Option<TickView> {
        let running = TickView::running(&self.name, self.record.as_ref()?)?;
        let has_ended = |run: RunId| self.entries.iter().any(|entry| entry.run == Some(run));
        (!running.run.is_some_and(has_ended)).then_some(running)
    }

    /// Returns the decided ticks, oldest first.
    pub(crate) fn decided(&self) -> impl DoubleEndedIterator<Item = TickView> {
        self.entries.iter().map(move |entry| TickView {
            count: count(entry, self.spec().map(|spec| &spec.schedule), self.record.as_ref()),
            ..TickView::decided(&self.name, entry)
        })
    }
}
