//! Finds jobs whose last ticks did not end well.

use crate::job::{Outcome, Reason, Verdict};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::JobState;
use crate::view::text::reason::verdict_in_words;
use crate::view::text::time_format::{Rfc3339, from_now, utc};

use super::{ClusterProblem, Kind};

/// The ticks of a job in a row that did not succeed, as its record counts them: all of them, also those of which no entry was
/// read. Skipped ticks and killed runs do not count.
#[derive(Debug)]
pub(super) struct FailedRow {
    /// The newest of them; `None` if its entry was not read.
    newest: Option<TickView>,
    /// When the first of them ended.
    pub(super) since: Option<Rfc3339>,
    pub(super) count: u64,
    /// `; 5 ticks in a row did not succeed, since 2026-11-20 10:00:00 UTC (2h ago)`, for more than one.
    pub(super) words: String,
}

impl FailedRow {
    /// Returns the row of a job whose last tick that counts did not end well. Ages are counted to `now`.
    pub(super) fn of(job: &JobState, now: UtcMillis) -> Option<Self> {
        let record = job.record.as_ref().filter(|_| job.definition.may_run() && job.is_failing())?;
        let (since, count) = (record.failing_since, record.failures_in_row);
        let newest = job.decided().rev().find(|tick| is_failure(tick.outcome));
        let words = since.map(|since| in_a_row(since, count, now)).unwrap_or_default();
        Some(Self { newest, since: since.map(Rfc3339), count, words })
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
            count: Some(count),
            ..ClusterProblem::of_job(job, Kind::LastOutcome, format!("{last}{words}"))
        }
    }
}

/// Whether a tick with this outcome is a failure of its job. One that was skipped, or whose run was killed, is not.
const fn is_failure(outcome: Outcome) -> bool {
    !is_well(outcome) && !matches!(outcome, Outcome::Skipped | Outcome::Killed)
}

/// Whether a tick with this outcome needs no attention.
pub(super) const fn is_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Running)
}

/// Whether none of the entries that were read of a job tells how it failed: what came after that was skipped, or killed.
pub(crate) fn needs_depth(job: &JobState) -> bool {
    let tells = job.entries.iter().any(|entry| is_failure(entry.outcome));
    job.is_failing() && !job.entries.is_empty() && !tells
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
fn in_a_row(since: UtcMillis, count: u64, now: UtcMillis) -> String {
    if count < 2 {
        return String::new();
    }
    let (since, ago) = (utc(since), from_now(since, now));
    format!("; {count} ticks in a row did not succeed, since {since} UTC ({ago})")
}
