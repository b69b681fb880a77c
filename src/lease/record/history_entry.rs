//! An entry of a job's history: one decided tick, or several in a row that did not run for the same reason.

use serde::{Deserialize, Serialize};

use crate::job::{Cause, Fence, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::time::UtcMillis;

/// An entry of a job's history: how a tick ended. `None` means that a field does not apply or is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The tick; the newest one if the entry stands for several.
    pub tick: Tick,
    /// The entry stands for every tick after this instant, up to `tick`.
    pub after: Option<UtcMillis>,
    /// The number of ticks that the entry stands for.
    pub count: Option<u64>,
    /// The run.
    pub run: Option<RunId>,
    /// The replica that ran it.
    pub node: Option<NodeName>,
    /// The fencing token of the run.
    pub fence: Option<Fence>,
    /// The number of the last attempt, from 1.
    pub attempt: Option<u32>,
    /// Why the tick was to run.
    pub cause: Cause,
    /// How the tick ended.
    pub outcome: Outcome,
    /// The reason for the outcome.
    pub reason: Option<Reason>,
    /// The exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// The signal, if one ended the command.
    pub signal: Option<i32>,
    /// When the run began, by the store's clock: when it was granted, or at the tick's instant if that is later.
    pub started: Option<UtcMillis>,
    /// When the run ended or the tick was decided, by the store's clock.
    pub finished: UtcMillis,
    /// The end of the output, at most 4 KiB.
    pub tail: Option<String>,
}

impl HistoryEntry {
    /// Returns the entry of a tick that did not run.
    pub fn without_run(tick: Tick, cause: Cause, verdict: Verdict, now: UtcMillis) -> Self {
        Self {
            tick,
            after: None,
            count: None,
            run: None,
            node: None,
            fence: None,
            attempt: None,
            cause,
            outcome: verdict.outcome,
            reason: verdict.reason,
            exit_code: None,
            signal: None,
            started: None,
            finished: now,
            tail: None,
        }
    }

    /// Joins this entry with `next`, whose ticks come right after this one's. `None` unless the ticks of both were missed
    /// for the same reason, or skipped because the job is paused, and have the same cause.
    pub fn joined(&self, next: &Self) -> Option<Self> {
        let is_alike = self.verdict() == next.verdict() && self.cause == next.cause;
        let is_foldable = self.outcome == Outcome::Missed || self.reason == Some(Reason::Paused);
        if !is_alike || !is_foldable || self.run.or(next.run).is_some() {
            return None;
        }
        let count = self.stands_for().zip(next.stands_for()).map(|(ours, more)| ours + more);
        Some(Self { after: Some(self.begins_after()), count, ..next.clone() })
    }

    /// Whether this entry says why the tick of `other` did not run, and `other` is of a run of which its holder has reported
    /// nothing: a record that went back to an older state, without its history, still shows that run.
    pub(crate) fn denies(&self, other: &Self) -> bool {
        let is_unreported = other.run.is_some() && other.attempt.is_none() && other.cause != Cause::Manual;
        let covers = self.begins_after() < other.tick.instant() && other.tick <= self.tick;
        let is_without_run =
            self.run.is_none() && self.cause != Cause::Manual && self.outcome != Outcome::Unknown;
        is_unreported && is_without_run && covers
    }

    /// Returns the instant after which the ticks of the entry come.
    pub(crate) fn begins_after(&self) -> UtcMillis {
        self.after.unwrap_or(UtcMillis(self.tick.as_millis() - 1))
    }

    /// Returns for how many ticks the entry stands; `None` if that is not known.
    fn stands_for(&self) -> Option<u64> {
        self.count.or_else(|| self.after.is_none().then_some(1))
    }

    /// Returns outcome and reason together.
    pub fn verdict(&self) -> Verdict {
        Verdict { outcome: self.outcome, reason: self.reason }
    }
}
