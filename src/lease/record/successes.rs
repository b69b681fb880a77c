//! What a record tells of a job's successes: the newest one, and how many ticks in a row did not succeed since. All
//! of it comes from the entries, and no decision depends on it.

use crate::job::Outcome;
use crate::lease::{HistoryEntry, Record};
use crate::time::UtcMillis;

impl Record {
    /// Counts a new entry at `now`, the store's time. Skipped ticks and killed runs tell nothing about the job.
    pub(crate) fn count_entry(&mut self, entry: &HistoryEntry, now: UtcMillis) {
        match entry.outcome {
            Outcome::Succeeded => self.count_success(entry, now),
            Outcome::Failed
            | Outcome::TimedOut
            | Outcome::Interrupted
            | Outcome::Missed
            | Outcome::Unknown => self.count_failure(entry, now),
            Outcome::Skipped | Outcome::Killed | Outcome::Running => {}
        }
    }

    /// A success that is reported late, and ended before the first failure, ends no row of failures.
    fn count_success(&mut self, entry: &HistoryEntry, now: UtcMillis) {
        self.last_success_tick = self.last_success_tick.max(Some(entry.tick));
        self.last_success_end = self.last_success_end.max(Some(entry.finished));
        if !is_before(entry.finished, self.failing_since, now) {
            (self.failures_in_row, self.failing_since) = (0, None);
        }
    }

    /// A failure that is reported late, and ended before the newest success, does not count. An entry for several
    /// ticks whose number is not known counts as one.
    fn count_failure(&mut self, entry: &HistoryEntry, now: UtcMillis) {
        if !is_before(entry.finished, self.last_success_end, now) {
            self.failures_in_row = self.failures_in_row.saturating_add(entry.count.unwrap_or(1));
            self.failing_since = self.failing_since.or(Some(entry.finished));
        }
    }
}

/// Whether `ended` is before `other`. An instant later than `now` was recorded by a clock that was set back since:
/// nothing is before it.
fn is_before(ended: UtcMillis, other: Option<UtcMillis>, now: UtcMillis) -> bool {
    other.is_some_and(|other| ended < other && other <= now)
}

#[cfg(test)]
#[path = "successes_tests.rs"]
mod tests;
