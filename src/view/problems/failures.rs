//! Finds jobs whose last ticks did not end well.

use crate::job::{Outcome, Reason, Verdict};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::JobState;
use crate::view::text::reason::verdict_in_words;
use crate::view::text::time_format::{Rfc3339, from_now, utc};

use super::{ClusterProblem, DEPTH, Kind};

/// The last ticks of a job that count, none of which ended well. Skipped ticks and killed runs do not count.
#[derive(Debug)]
pub(super) struct FailedRow {
    /// The last one; `None` if no entry was read, and the record counts failures.
    newest: Option<TickView>,
    pub(super) since: Option<Rfc3339>,
    /// How many they are; `None` if that is not known.
    pub(super) count: Option<u64>,
    /// `; 5 ticks in a row did not succeed, since 2026-11-20 10:00:00 UTC (2h ago)`, for more than one.
    pub(super) words: String,
}

impl FailedRow {
    /// Returns the row of a job whose last tick that counts did not end well.
    pub(super) fn of(job: &JobState, now: UtcMillis) -> Option<Self> {
        if !job.definition.may_run() {
            return None;
        }
        if job.entries.is_empty() {
            return Self::unread(job, now);
        }
        let counting = || job.decided().rev().filter(|tick| !is_neutral(tick.outcome));
        let streak: Vec<TickView> = counting().take_while(|tick| !is_well(tick.outcome)).collect();
        let (newest, oldest) = (streak.first()?, streak.last()?);
        let ends_within = job.entries.len() < DEPTH || counting().count() > streak.len();
        let is_known = ends_within && streak.iter().all(|tick| tick.after.is_none() || tick.count.is_some());
        let count: u64 = streak.iter().map(|tick| tick.count.unwrap_or(1)).sum();
        // If ticks share an entry, the first of them.
        let first = oldest
            .after
            .and_then(|after| job.spec()?.schedule.next_after(after.0))
            .map(|tick| Rfc3339(tick.instant()));
        let since = first.or(oldest.finished);
        let words = in_a_row(since.map_or(oldest.ended(), |since| since.0), count, is_known, now);
        Some(Self { newest: Some(newest.clone()), since, count: is_known.then_some(count), words })
    }

    /// Returns the row of a job of which no entry was read, and whose record counts failures.
    fn unread(job: &JobState, now: UtcMillis) -> Option<Self> {
        let record = job.record.as_ref().filter(|record| record.failures_in_row > 0)?;
        let (since, count) = (record.failing_since, record.failures_in_row);
        let words = since.map(|since| in_a_row(since, count, true, now)).unwrap_or_default();
        Some(Self { newest: None, since: since.map(Rfc3339), count: Some(count), words })
    }

    /// Whether the last tick did not run because no replica could run it, as far as is known.
    pub(super) fn may_be_for_want_of_replicas(&self) -> bool {
        self.newest.as_ref().is_none_or(|newest| newest.reason == Some(Reason::NoReplica))
    }

    /// Returns the problem that it is.
    pub(super) fn problem(self, job: &JobState, now: UtcMillis) -> ClusterProblem {
        let Self { newest, since, count, words } = self;
        let name = &job.name;
        let last = newest.as_ref().map_or_else(
            || format!("`{name}`: its last tick did not succeed (see `solocron history {name}`)"),
            |newest| worded(newest, now),
        );
        ClusterProblem {
            node: newest.and_then(|newest| newest.node),
            since,
            count,
            ..ClusterProblem::of_job(job, Kind::LastOutcome, format!("{last}{words}"))
        }
    }
}

/// Whether a tick with this outcome is neither a success nor a failure of its job: it was skipped, or its run was killed.
const fn is_neutral(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Skipped | Outcome::Killed)
}

/// Whether a tick with this outcome needs no attention.
pub(super) const fn is_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Running)
}

/// Whether more than the newest entry is needed to judge a job.
pub(crate) fn needs_depth(job: &JobState) -> bool {
    job.entries.last().is_some_and(|entry| !is_well(entry.outcome))
}

/// `` `backup`: failed with exit code 3 on n1, 2m ago (see `solocron logs backup`) ``
fn worded(tick: &TickView, now: UtcMillis) -> String {
    let on = tick.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    let exit = tick.exit().map_or(String::new(), |exit| match tick.signal {
        Some(_) => format!(", ended by {exit}"),
        None => format!(" with exit code {exit}"),
    });
    let command = if tick.run.is_some() { "logs" } else { "history" };
    let verdict = verdict_in_words(Verdict { outcome: tick.outcome, reason: tick.reason });
    let job = &tick.job;
    format!("`{job}`: {verdict}{exit}{on}, {} (see `solocron {command} {job}`)", from_now(tick.ended(), now))
}

/// `; 5 ticks in a row did not succeed, since 2026-11-20 10:00:00 UTC (2h ago)`, for more than one.
fn in_a_row(since: UtcMillis, count: u64, known: bool, now: UtcMillis) -> String {
    if count < 2 {
        return String::new();
    }
    let least = if known { "" } else { "at least " };
    let (since, ago) = (utc(since), from_now(since, now));
    format!("; {least}{count} ticks in a row did not succeed, since {since} UTC ({ago})")
}
