//! Ticks that did not run, and why.

use std::cmp::Reverse;

use crate::job::{JobName, Outcome, Reason, Tick, Verdict};
use crate::lease::HistoryEntry;
use crate::time::UtcMillis;
use crate::view::text::reason::{outcome_in_words, reason_in_words};
use crate::view::timeline::facts::{PastTick, TimelineFacts, TimelineSpecs};
use crate::view::timeline::window::TimeWindow;

/// A tick that did not run, or several that share an entry.
#[derive(Debug)]
pub(in crate::view::timeline) struct Absence<'a> {
    pub(in crate::view::timeline) job: &'a JobName,
    /// The first tick.
    pub(in crate::view::timeline) first: UtcMillis,
    /// The last tick; the same as the first of a single one.
    pub(in crate::view::timeline) last: UtcMillis,
    /// How many ticks they are; `None` if that is not known.
    pub(in crate::view::timeline) count: Option<u64>,
    is_folded: bool,
    pub(in crate::view::timeline) verdict: Verdict,
}

/// Returns the ticks that did not run and that the window shows, each once, by job. Of entries that share
/// ticks, as one that grew, the one with most ticks remains.
pub(in crate::view::timeline) fn absences<'a>(
    facts: &TimelineFacts<'a>,
    specs: &TimelineSpecs<'_>,
    window: &TimeWindow,
) -> Vec<Absence<'a>> {
    let mut all: Vec<Absence<'a>> = facts
        .past
        .iter()
        .filter(|past| is_absence(past.entry))
        .filter(|past| window.shows(past.entry.after.unwrap_or(past.entry.tick.0), past.entry.tick.0))
        .map(|past| Absence::of(*past, specs))
        .filter(|absence| absence.first <= window.now())
        .collect();
    all.sort_by_key(|absence| {
        let Verdict { outcome, reason } = absence.verdict;
        let kind = (absence.job, outcome.as_str(), reason.map(Reason::as_str));
        (kind, absence.first, Reverse(absence.last), absence.count.is_none())
    });
    all.dedup_by(|later, kept| {
        later.job == kept.job && later.verdict == kept.verdict && later.last <= kept.last
    });
    all
}

impl<'a> Absence<'a> {
    /// Returns the ticks of an entry of which none ran.
    fn of(PastTick { job, entry }: PastTick<'a>, specs: &TimelineSpecs<'_>) -> Self {
        let last = entry.tick.instant();
        // The first tick after that instant, by the job's schedule if it is known.
        let next = |after: UtcMillis| specs.get(job).and_then(|spec| spec.schedule.next_after(after));
        let first = entry.after.map_or(last, |after| {
            next(after).map_or(UtcMillis(after.0.saturating_add(1)), Tick::instant).min(last)
        });
        let is_folded = first < last;
        let count = if is_folded { entry.count } else { Some(1) };
        Self { job, first, last, count, is_folded, verdict: entry.verdict() }
    }

    /// Returns the text beside the bracket of several ticks: `×37 the store did not answer`.
    pub(in crate::view::timeline) fn folded(&self) -> Option<String> {
        let count = self.count.map_or("?".to_owned(), |count| count.to_string());
        let reason = self.verdict.reason.map_or(self.verdict.outcome.as_str(), reason_in_words);
        self.is_folded.then(|| format!("×{count} {reason}"))
    }

    /// Returns the ticks in a sentence: `` `reindex`, 37 ticks from 02:10:00 to 02:47:00: missed, as the
    /// store did not answer ``.
    pub(in crate::view::timeline) fn title(&self, window: &TimeWindow) -> String {
        let (job, last) = (self.job, window.clock(self.last));
        let ticks = match (self.is_folded, self.count) {
            (false, _) => format!("tick of {last}"),
            (true, Some(count)) => format!("{count} ticks from {} to {last}", window.clock(self.first)),
            (true, None) => format!("ticks from {} to {last}", window.clock(self.first)),
        };
        let outcome = outcome_in_words(self.verdict.outcome);
        let why =
            self.verdict.reason.map_or(String::new(), |reason| format!(", as {}", reason_in_words(reason)));
        format!("`{job}`, {ticks}: {outcome}{why}")
    }
}

/// Whether nothing ran of what the entry stands for.
fn is_absence(entry: &HistoryEntry) -> bool {
    matches!(entry.outcome, Outcome::Skipped | Outcome::Missed)
        || entry.started.is_none()
        || entry.node.is_none()
}
