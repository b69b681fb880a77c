//! The bars of a sparkline.

use std::time::Duration;

use crate::job::{Cause, Outcome};
use crate::lease::HistoryEntry;
use crate::view::history::{duration, median_duration, usual_duration};
use crate::view::text::reason::outcome_in_words;
use crate::view::text::time_format::span;

/// The newest so many entries are shown.
pub const SLOTS: usize = 60;

/// The highest bar, which stands for four times the median and more. The lowest one, 1, stands for a quarter
/// of it and less.
pub(super) const HIGHEST: u8 = 8;

/// How far the bars reach to both sides of the median, in powers of two.
const REACH: f64 = 2.0;

/// How a tick looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SparkForm {
    /// It ran well.
    Ran,
    /// It ran well, after its first run was interrupted.
    Rerun,
    /// Its run failed, ran too long or was interrupted.
    Failed,
    /// Its run was killed: neither a success nor a failure.
    Killed,
    /// It was skipped.
    Skipped,
    /// It was missed.
    Missed,
    /// Whether it ran is not known.
    Unknown,
}

/// One tick, or several that share an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SparkBar {
    pub(super) form: SparkForm,
    /// From 1 to 8; other forms than [`SparkForm::Ran`] are not as high as their run was long.
    pub(super) height: u8,
}

/// The newest ticks of a job in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sparkline {
    /// At most 60, oldest first.
    pub(super) bars: Vec<SparkBar>,
    title: String,
}

impl SparkForm {
    /// All forms, the usual one first.
    pub const ALL: [Self; 7] =
        [Self::Ran, Self::Rerun, Self::Failed, Self::Killed, Self::Skipped, Self::Missed, Self::Unknown];

    /// Returns its name, as a class of style sheets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Rerun => "rerun",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
            Self::Unknown => "unknown",
        }
    }

    fn of(entry: &HistoryEntry) -> Self {
        match entry.outcome {
            Outcome::Succeeded if entry.cause == Cause::Rerun => Self::Rerun,
            Outcome::Succeeded => Self::Ran,
            Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => Self::Failed,
            Outcome::Killed => Self::Killed,
            Outcome::Skipped => Self::Skipped,
            Outcome::Missed => Self::Missed,
            Outcome::Unknown | Outcome::Running => Self::Unknown,
        }
    }
}

impl Sparkline {
    /// Returns the line of a job from its entries, oldest first, of which it shows the newest 60.
    pub fn of(entries: &[HistoryEntry]) -> Self {
        let newest = entries.get(entries.len().saturating_sub(SLOTS)..).unwrap_or(entries);
        let median = median_duration(newest, SLOTS).unwrap_or_default();
        let bar = |entry: &HistoryEntry| SparkBar {
            form: SparkForm::of(entry),
            height: height(duration(entry).unwrap_or_default(), median),
        };
        Self { bars: newest.iter().map(bar).collect(), title: title(newest) }
    }

    /// Returns the line as a sentence: `newest ticks: 14 succeeded, 4 failed; a run usually takes 21s`.
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// Returns the height of a duration beside the median of its row: 1 for a quarter of the median and less, 8
/// for four times the median and more, in equal steps of their ratio in between.
fn height(took: Duration, median: Duration) -> u8 {
    let of = |duration: Duration| (duration.as_millis() as f64).max(1.0);
    let ratio = (of(took) / of(median)).log2().clamp(-REACH, REACH);
    let steps = f64::from(HIGHEST - 1);
    1 + ((ratio + REACH) / (2.0 * REACH) * steps) as u8
}

fn title(entries: &[HistoryEntry]) -> String {
    let counted: Vec<String> = Outcome::ALL.iter().filter_map(|outcome| count(entries, *outcome)).collect();
    if counted.is_empty() {
        return "no tick has been decided yet".to_owned();
    }
    let usual = usual_duration(entries)
        .map_or(String::new(), |usual| format!("; a run usually takes {}", span(usual)));
    format!("newest ticks: {}{usual}", counted.join(", "))
}

/// Returns `4 failed`, with the ticks that share an entry; `None` if no tick ended so.
fn count(entries: &[HistoryEntry], outcome: Outcome) -> Option<String> {
    let ended_so = || entries.iter().filter(|entry| entry.outcome == outcome);
    ended_so().next()?;
    let count = ended_so().fold(0_u64, |sum, entry| sum.saturating_add(entry.count.unwrap_or(1)));
    let is_known = ended_so().all(|entry| entry.after.is_none() || entry.count.is_some());
    let least = if is_known { "" } else { "at least " };
    Some(format!("{least}{count} {}", outcome_in_words(outcome)))
}
