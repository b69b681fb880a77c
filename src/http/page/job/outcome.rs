//! A decided tick or a run as a line of a table.

use std::time::Duration;

use crate::http::page::home::ended;
use crate::http::page::shell::{RelativeTime, run_link};
use crate::job::{Cause, Outcome, Schedule, Tick};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::text::reason::{code_in_words, reason_in_words};
use crate::view::text::time_format::{Rfc3339, local, span, utc};

/// A run that started within this time after its instant was not late.
const IN_TIME: Duration = Duration::from_secs(1);

/// One line.
#[derive(Debug)]
pub(crate) struct TickLine {
    /// Tells it apart from the other lines of the job.
    pub(crate) key: String,
    /// The tick in the job's zone; the first and the last if there are several.
    pub(crate) tick: String,
    /// `None` while it runs.
    pub(crate) ended: Option<RelativeTime>,
    /// The outcome, which is also a class of the style sheet.
    pub(crate) class: &'static str,
    pub(crate) sign: &'static str,
    /// `missed ×12`, `failed, exit code 3`
    pub(crate) ended_as: String,
    /// Why, in words; empty if there is no reason.
    pub(crate) why: &'static str,
    pub(crate) link: Option<String>,
    pub(crate) late: Option<String>,
    pub(crate) took: Option<String>,
    pub(crate) node: String,
    pub(crate) fence: Option<String>,
    pub(crate) attempt: String,
    pub(crate) cause: String,
}

impl TickLine {
    /// Returns the line of a tick of a job with this schedule, if that is known.
    pub(crate) fn of(tick: &TickView, schedule: Option<&Schedule>, now: UtcMillis) -> Self {
        let Rfc3339(at) = tick.tick;
        let shown = in_zone(at, schedule);
        let first = tick.after.and_then(|Rfc3339(after)| schedule?.next_after(after));
        let first =
            first.filter(|first| first.instant() < at).map(|first| in_zone(first.instant(), schedule));
        let late = tick.late().filter(|late| *late >= IN_TIME && tick.cause != Some(Cause::Manual));
        Self {
            key: tick.run.map_or_else(|| at.0.to_string(), |run| run.to_string()),
            tick: first.map_or_else(|| shown.clone(), |first| format!("{first} to {shown}")),
            ended: (tick.outcome != Outcome::Running)
                .then(|| RelativeTime { at: tick.finished.map_or(at, |Rfc3339(finished)| finished), now }),
            class: tick.outcome.as_str(),
            sign: sign(tick.outcome, tick.cause),
            ended_as: ended(&tick.outcome_in_words(), tick.exit(), tick.outcome),
            why: tick.reason.map(reason_in_words).unwrap_or_default(),
            link: tick.run.map(|run| run_link(&tick.job, run)),
            late: late.map(span),
            took: tick.took(now).map(span),
            node: tick.node.as_ref().map(ToString::to_string).unwrap_or_default(),
            fence: tick.fence.map(|fence| fence.to_string()),
            attempt: tick.attempt.map(|attempt| attempt.to_string()).unwrap_or_default(),
            cause: tick.cause.map(|cause| code_in_words(cause.as_str())).unwrap_or_default(),
        }
    }
}

/// Returns an instant in the zone of a schedule, or in UTC if that is not known.
pub(super) fn in_zone(at: UtcMillis, schedule: Option<&Schedule>) -> String {
    match schedule {
        Some(schedule) => local(schedule, Tick::at_millis(at.0)),
        None => format!("{} UTC", utc(at)),
    }
}

/// Returns the sign of an outcome: form, and not only colour, tells them apart.
pub(super) const fn sign(outcome: Outcome, cause: Option<Cause>) -> &'static str {
    match outcome {
        Outcome::Running => "●",
        Outcome::Succeeded if matches!(cause, Some(Cause::Rerun)) => "↻",
        Outcome::Succeeded => "✓",
        Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => "✗",
        Outcome::Killed => "□",
        Outcome::Skipped => "◇",
        Outcome::Missed => "◆",
        Outcome::Unknown => "?",
    }
}
