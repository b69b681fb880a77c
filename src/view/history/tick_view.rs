//! A decided tick or a current run, with the field names that programs rely on. Fields that do not apply are null.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde::Serialize;

use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Schedule, Tick, Verdict};
use crate::lease::{HistoryEntry, Record};
use crate::run::RunEntry;
use crate::time::UtcMillis;

use crate::view::text::reason::{outcome_in_words, verdict_in_words};
use crate::view::text::time_format::Rfc3339;

/// More ticks than this are not counted one by one: a schedule of every second has as many in three hours.
const MAX_COUNTED: usize = 10_000;

/// The outcome of a tick, or its current run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TickView {
    pub(crate) job: JobName,
    /// The newest one if this stands for several.
    pub(crate) tick: Rfc3339,
    pub(crate) tick_ms: Tick,
    pub(crate) run: Option<RunId>,
    pub(crate) node: Option<NodeName>,
    pub(crate) fence: Option<Fence>,
    /// From 1; null for a current run.
    pub(crate) attempt: Option<u32>,
    pub(crate) cause: Option<Cause>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<Reason>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) started: Option<Rfc3339>,
    pub(crate) finished: Option<Rfc3339>,
    /// This stands for every tick after this instant, up to `tick`; null for a single one.
    pub(crate) after: Option<Rfc3339>,
    /// How many ticks this stands for; null for a single one, and if it is not known.
    pub(crate) count: Option<u64>,
    pub(crate) tail: Option<String>,
}

impl TickView {
    /// Returns the view of an entry.
    pub(crate) fn decided(job: &JobName, entry: &HistoryEntry) -> Self {
        Self {
            job: job.clone(),
            tick: Rfc3339(entry.tick.instant()),
            tick_ms: entry.tick,
            run: entry.run,
            node: entry.node.clone(),
            fence: entry.fence,
            attempt: entry.attempt,
            cause: Some(entry.cause),
            outcome: entry.outcome,
            reason: entry.reason,
            exit_code: entry.exit_code,
            signal: entry.signal,
            started: entry.started.map(Rfc3339),
            finished: Some(Rfc3339(entry.finished)),
            after: entry.after.map(Rfc3339),
            count: entry.count,
            tail: entry.tail.clone(),
        }
    }

    /// Returns the view of the run that a record shows as running; `None` if there is none.
    pub(crate) fn running(job: &JobName, record: &Record) -> Option<Self> {
        let tick = record.tick.filter(|_| record.is_running())?;
        Some(Self {
            job: job.clone(),
            tick: Rfc3339(tick.instant()),
            tick_ms: tick,
            run: record.run,
            node: record.owner.clone(),
            fence: Some(record.fence),
            attempt: None,
            cause: record.cause,
            outcome: Outcome::Running,
            reason: None,
            exit_code: None,
            signal: None,
            started: record.started.map(Rfc3339),
            finished: None,
            after: None,
            count: None,
            tail: None,
        })
    }

    /// Returns the view of a run of this node, from its own files.
    pub(crate) fn kept(entry: &RunEntry) -> Self {
        Self {
            job: entry.job.clone(),
            tick: Rfc3339(entry.tick.instant()),
            tick_ms: entry.tick,
            run: Some(entry.run),
            node: Some(entry.node.clone()),
            fence: Some(entry.fence),
            attempt: Some(entry.attempt),
            cause: Some(entry.cause),
            outcome: entry.outcome,
            reason: entry.reason,
            exit_code: entry.exit_code,
            signal: entry.signal,
            started: Some(Rfc3339(entry.started)),
            finished: entry.finished.map(Rfc3339),
            after: None,
            count: None,
            tail: entry.tail.clone(),
        }
    }

    /// Returns the view without what the job printed.
    pub(crate) fn without_output(self) -> Self {
        Self { tail: None, ..self }
    }

    /// `failed (spawn_failed)`, `missed (no_replica) ×12`
    pub(crate) fn verdict(&self) -> String {
        self.counted(Verdict { outcome: self.outcome, reason: self.reason }.to_string())
    }

    /// `missed (no live replica could run it) ×12`
    pub(crate) fn verdict_in_words(&self) -> String {
        self.counted(verdict_in_words(Verdict { outcome: self.outcome, reason: self.reason }))
    }

    /// `timed out`, `missed ×12`
    pub(crate) fn outcome_in_words(&self) -> String {
        self.counted(outcome_in_words(self.outcome))
    }

    /// Adds how many ticks it stands for, if they are several.
    fn counted(&self, words: String) -> String {
        match (self.after.is_some(), self.count) {
            (true, Some(count)) if count > 1 => format!("{words} ×{count}"),
            (true, None) => format!("{words} ×?"),
            (true, Some(_)) | (false, _) => words,
        }
    }

    /// `3`, `SIGTERM`: how the command itself ended.
    pub(crate) fn exit(&self) -> Option<String> {
        exit(self.exit_code, self.signal)
    }

    /// Returns how long after its instant the tick was granted.
    pub(crate) fn late(&self) -> Option<Duration> {
        self.started.map(|Rfc3339(started)| started.since(self.tick.0))
    }

    /// Returns how long the run took, or has taken so far.
    pub(crate) fn took(&self, now: UtcMillis) -> Option<Duration> {
        let end = match self.finished {
            Some(Rfc3339(finished)) => finished,
            None if self.outcome == Outcome::Running => now,
            // Its replica crashed, and no process saw the end.
            None => return None,
        };
        self.started.map(|Rfc3339(started)| end.since(started))
    }

    /// Returns when it ended; for a current run, an instant later than all others.
    pub(crate) fn ended(&self) -> UtcMillis {
        self.finished.map_or(UtcMillis(i64::MAX), |Rfc3339(finished)| finished)
    }
}

/// Returns `3` or `SIGTERM`: how a command ended, by its exit code or its signal.
pub(crate) fn exit(exit_code: Option<i32>, signal: Option<i32>) -> Option<String> {
    let name = |signal| Signal::try_from(signal).map_or(format!("signal {signal}"), |it| it.as_str().into());
    signal.map(name).or_else(|| exit_code.map(|code| code.to_string()))
}

/// Returns how many ticks an entry stands for. If the entry does not say, they are counted by the schedule, if that is
/// known and has not changed since.
pub(crate) fn count(
    entry: &HistoryEntry,
    schedule: Option<&Schedule>,
    record: Option<&Record>,
) -> Option<u64> {
    let after = entry.after?;
    let Some(schedule) = schedule.filter(|_| entry.count.is_none()) else { return entry.count };
    let is_of =
        |record: &Record| record.schedule_hash.0 == schedule.fingerprint() && record.schedule_since <= after;
    if !record.is_some_and(is_of) {
        return None;
    }
    let ticks = schedule.ticks_after(after);
    let count = ticks.take_while(|tick| *tick <= entry.tick).take(MAX_COUNTED + 1).count();
    (1..=MAX_COUNTED).contains(&count).then_some(count as u64)
}
