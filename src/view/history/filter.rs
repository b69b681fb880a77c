//! Which ticks of the past are wanted, by whoever asks: a command, the page, the API.

use crate::job::{NodeName, Outcome};
use crate::store::KEPT_ENTRIES;
use crate::time::UtcMillis;
use crate::view::job::JobState;
use crate::view::snapshot::Snapshot;
use crate::view::text::TimeBound;

use super::{HistoryCursor, TickView};

/// Which ticks are wanted: those that meet every condition.
#[derive(Debug, Clone)]
pub(crate) struct HistoryFilter {
    /// Only ticks that ended, and did not succeed.
    pub(crate) failed: bool,
    /// Only ticks with one of these outcomes; any if empty.
    pub(crate) outcomes: Vec<Outcome>,
    /// Only runs on this replica.
    pub(crate) node: Option<NodeName>,
    /// Only ticks that ended at this time or later.
    pub(crate) since: Option<TimeBound>,
    /// Only ticks that ended before this time.
    pub(crate) until: Option<TimeBound>,
    /// Only ticks with a smaller place in the history.
    pub(crate) before: Option<HistoryCursor>,
    /// At most so many, the newest.
    pub(crate) newest: usize,
}

impl HistoryFilter {
    /// Whether it leaves out ticks by what they are, and not only by their number.
    pub(crate) const fn leaves_out(&self) -> bool {
        self.failed
            || !self.outcomes.is_empty()
            || self.node.is_some()
            || self.since.is_some()
            || self.until.is_some()
            || self.before.is_some()
    }

    /// Returns how many of the newest entries of each job must be read. What is left out does not count for
    /// `newest`.
    pub(crate) fn entries_per_job(&self) -> usize {
        if self.leaves_out() { KEPT_ENTRIES } else { self.newest.min(KEPT_ENTRIES) }
    }

    /// Returns the wanted ticks of all jobs of the snapshot, in the order in which they ended. Current runs
    /// come last.
    pub(crate) fn select(&self, snapshot: &Snapshot) -> Vec<TickView> {
        let past = snapshot.jobs.iter().flat_map(JobState::past);
        self.newest_of(past.filter(|tick| self.wants(tick, snapshot.now)).collect())
    }

    /// Returns the newest of ticks that are wanted, in the order in which they ended.
    pub(crate) fn newest_of(&self, mut wanted: Vec<TickView>) -> Vec<TickView> {
        wanted.sort_by_cached_key(HistoryCursor::of);
        wanted.drain(..wanted.len().saturating_sub(self.newest));
        wanted
    }

    fn wants(&self, tick: &TickView, now: UtcMillis) -> bool {
        let (since, until) = (self.since.map(|at| at.instant(now)), self.until.map(|at| at.instant(now)));
        since.is_none_or(|since| tick.ended() >= since)
            && until.is_none_or(|until| tick.ended() < until)
            && !(self.failed && is_well(tick.outcome))
            && (self.outcomes.is_empty() || self.outcomes.contains(&tick.outcome))
            && (self.node.is_none() || self.node == tick.node)
            && self.before.as_ref().is_none_or(|before| HistoryCursor::of(tick) < *before)
    }
}

/// Whether a tick with this outcome ran well, or may still do so.
const fn is_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Running)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
