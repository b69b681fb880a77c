//! How long a job usually takes.

use std::time::Duration;

use crate::job::Outcome;
use crate::lease::HistoryEntry;

/// So many runs decide what is usual.
const RUNS: usize = 20;

/// Returns how long the job usually takes: the median of its newest 20 runs that succeeded; `None` if there
/// is none. The entries come oldest first.
pub fn usual_duration(entries: &[HistoryEntry]) -> Option<Duration> {
    median_duration(entries, RUNS)
}

/// Returns the median duration of the `newest` runs that succeeded, the lower one of two; `None` if there is
/// none.
pub(crate) fn median_duration(entries: &[HistoryEntry], newest: usize) -> Option<Duration> {
    let succeeded = entries.iter().rev().filter(|entry| entry.outcome == Outcome::Succeeded);
    let mut all: Vec<Duration> = succeeded.filter_map(duration).take(newest).collect();
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied()
}

/// Returns how long the run of an entry took; `None` if nothing ran.
pub(crate) fn duration(entry: &HistoryEntry) -> Option<Duration> {
    entry.started.map(|started| entry.finished.since(started))
}

#[cfg(test)]
mod tests {
    use crate::job::{Cause, Tick, Verdict};
    use crate::time::UtcMillis;

    use super::*;

    fn took(seconds: i64, outcome: Outcome) -> HistoryEntry {
        let tick = Tick::at_millis(0);
        let entry = HistoryEntry::without_run(
            tick,
            Cause::Schedule,
            Verdict::plain(outcome),
            UtcMillis(seconds * 1_000),
        );
        HistoryEntry { started: Some(tick.instant()), ..entry }
    }

    #[test]
    fn the_usual_duration_is_the_median_of_the_newest_runs_that_succeeded() {
        let succeeded = |seconds: &[i64]| -> Vec<HistoryEntry> {
            seconds.iter().map(|&seconds| took(seconds, Outcome::Succeeded)).collect()
        };
        let usual = |entries: &[HistoryEntry]| usual_duration(entries).map(|took| took.as_secs());
        assert_eq!(usual(&[]), None);
        assert_eq!(usual(&succeeded(&[9])), Some(9));
        assert_eq!(usual(&succeeded(&[9, 1])), Some(1), "the lower of two");
        assert_eq!(usual(&succeeded(&[9, 1, 5])), Some(5));
        let older = succeeded(&[1; 30]);
        assert_eq!(usual(&[older, succeeded(&[7; 20])].concat()), Some(7), "older ones do not count");
        let failed = [took(60, Outcome::Failed), took(60, Outcome::Killed)];
        assert_eq!(usual(&[&succeeded(&[5])[..], &failed].concat()), Some(5));
        let mut skipped = took(60, Outcome::Succeeded);
        skipped.started = None;
        assert_eq!(usual(&[skipped]), None, "nothing ran");
    }
}
