//! Pauses and resumes a job in the whole cluster, by its record.

use std::fmt;
use std::time::Duration;

use crate::job::JobName;
use crate::lease::{Act, Answer, Pausing};
use crate::operate::OperateError;
use crate::operate::operator::Operator;
use crate::time::UtcMillis;
use crate::view::text::time_format::{rounded, span, utc};

/// The most characters of a reason. A longer one belongs elsewhere: it is stored in the job's record, and `status` shows it in
/// one line.
pub(crate) const LONGEST_REASON: usize = 200;

/// A job that is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paused {
    job: JobName,
    /// When its ticks run again; `None` if that is not before it is resumed.
    pub(crate) until: Option<UtcMillis>,
    /// Whether a run of the job goes on: a pause does not stop it.
    pub(crate) is_running: bool,
    /// The store's time.
    now: UtcMillis,
}

/// What became of a request to resume a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// Its pause has ended.
    NoLongerPaused,
    /// There was nothing to end.
    WasNotPaused,
}

/// Reads the reason of a pause.
///
/// # Errors
/// Why it cannot be one.
pub(crate) fn read_reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("it must be one line of plain text".to_owned());
    }
    match text.chars().count() {
        ..=LONGEST_REASON => Ok(text.to_owned()),
        count => Err(format!("it has {count} characters, and at most {LONGEST_REASON} are kept")),
    }
}

/// Skips the job's scheduled ticks for a time or, with `None`, until it is resumed. `why` is the operator's
/// reason.
pub(crate) async fn pause(
    operator: &Operator,
    lasts: Option<Duration>,
    why: Option<String>,
) -> Result<Paused, OperateError> {
    operator.act(&Act::Pause { lasts, why }).await?;
    let (record, now) = (operator.record().await?, operator.pulse().await?.now);
    let until = record.paused.filter(|until| *until < Pausing::UNTIL_RESUMED);
    Ok(Paused { job: operator.job.name.clone(), until, is_running: record.is_running(), now })
}

/// Ends the job's pause.
pub(crate) async fn resume(operator: &Operator) -> Result<Resumed, OperateError> {
    match operator.act(&Act::Resume).await? {
        Answer::AlreadyDecided => Ok(Resumed::WasNotPaused),
        _ => Ok(Resumed::NoLongerPaused),
    }
}

impl fmt::Display for Paused {
    /// Writes what the job is: `is paused until …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            None => write!(f, "is paused until `solocron resume {}`", self.job),
            // For how long, not in how long: acts are noted in these words, and read later.
            Some(until) => {
                let long = span(rounded(until.since(self.now), 1_000));
                write!(f, "is paused until {} UTC (for {long})", utc(until))
            }
        }
    }
}

impl fmt::Display for Resumed {
    /// Writes what the job is, or was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLongerPaused => "is no longer paused",
            Self::WasNotPaused => "was not paused",
        })
    }
}

#[cfg(test)]
#[path = "pause_tests.rs"]
mod tests;
