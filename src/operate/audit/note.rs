//! Notes of acts: who did what to which job, from where, why, and what came of it. Each is one short line, whatever
//! its fields hold, so that a store can keep many of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::{JobName, quoted, quoted_within};
use crate::time::UtcMillis;

use crate::operate::OperateError;

/// The most bytes of a note as a line of JSON.
pub const NOTE_BYTES: usize = 2_048;

/// Where acts come from that are requested by a command of this machine.
pub const FROM_COMMAND_LINE: &str = "command line";

/// The most bytes of the operator's name: a user and a host name have at most 97.
const BY_BYTES: usize = 256;

/// The most bytes of the origin: an IPv6 address with its zone and port has at most 68.
const FROM_BYTES: usize = 128;

/// The most bytes of the operator's reason: 200 letters of any script that has up to three bytes a letter.
const WHY_BYTES: usize = 640;

/// The most bytes of what came of the act. With all other fields a line has fewer than `NOTE_BYTES`.
const RESULT_BYTES: usize = 768;

/// The kinds of acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActKind {
    /// Runs the job by hand.
    Trigger,
    /// Skips its scheduled ticks.
    Pause,
    /// Ends a pause.
    Resume,
    /// Stops its run.
    Kill,
    /// Releases its lock.
    Unlock,
    /// Sets back a mark that lies in the future.
    UnlockMark,
}

/// An act, as an operator requested it.
#[derive(Debug, Clone, Copy)]
pub struct ActRequest<'a> {
    /// The operator: `ann@db1`, or the name of a token.
    pub by: &'a str,
    /// Where the request came from: [`FROM_COMMAND_LINE`], or the address of the client.
    pub from: &'a str,
    /// What was requested.
    pub act: ActKind,
    /// The job.
    pub job: &'a JobName,
    /// The operator's reason, if one was given.
    pub why: Option<&'a str>,
}

/// What came of an act, with the words for it.
#[derive(Clone, Copy)]
pub enum ActResult<'a> {
    /// It was done, or there was nothing to do.
    Done(&'a dyn fmt::Display),
    /// It was refused, for this reason, and changed nothing.
    Refused(&'a dyn fmt::Display),
    /// The store could not be reached, or refused the request. The act may have taken effect.
    Failed(&'a dyn fmt::Display),
}

/// A note of an act. One that was made by [`ActNote::of`] or [`ActNote::parse`] fits into a line, and has no control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActNote {
    /// When the act was noted, by the clock of the machine where it was requested.
    pub at: UtcMillis,
    /// The operator.
    pub by: String,
    /// Where the request came from.
    pub from: String,
    /// What was requested.
    pub act: ActKind,
    /// The job.
    pub job: JobName,
    /// The operator's reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What came of it, in words; `refused: ` or `failed: ` comes before the reason.
    pub result: String,
}

/// Why a line is no note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActNoteError {
    /// It is too long.
    #[error("the note of an act has {0} bytes, expected at most {NOTE_BYTES}")]
    TooLong(usize),
    /// It has no such fields. A newer release may have written it.
    #[error("the note of an act reads `{line}`, expected an object of JSON: {why}")]
    Malformed {
        /// Its beginning.
        line: String,
        /// What is wrong.
        why: String,
    },
}

impl ActKind {
    /// Returns its word in notes, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Kill => "kill",
            Self::Unlock => "unlock",
            Self::UnlockMark => "unlock_mark",
        }
    }

    /// Returns what was done to the job: `paused`, as in `paused by ann`.
    pub(crate) const fn done(self) -> &'static str {
        match self {
            Self::Trigger => "triggered",
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Kill => "stopped",
            Self::Unlock => "unlocked",
            Self::UnlockMark => "mark set back",
        }
    }
}

impl fmt::Display for ActKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl ActResult<'_> {
    /// Returns its word in logs and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }
}

impl<'a, T: fmt::Display> From<&'a Result<T, OperateError>> for ActResult<'a> {
    fn from(result: &'a Result<T, OperateError>) -> Self {
        match result {
            Ok(done) => Self::Done(done),
            Err(error) => Self::from(error),
        }
    }
}

impl<'a> From<&'a OperateError> for ActResult<'a> {
    fn from(error: &'a OperateError) -> Self {
        if error.is_unreachable() { Self::Failed(error) } else { Self::Refused(error) }
    }
}

impl fmt::Display for ActResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(words) => write!(f, "{words}"),
            Self::Refused(why) | Self::Failed(why) => write!(f, "{}: {why}", self.name()),
        }
    }
}

impl fmt::Debug for ActResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActResult({self})")
    }
}

impl ActNote {
    /// Whether the act was done, and neither refused nor failed.
    pub(crate) fn is_done(&self) -> bool {
        !["refused: ", "failed: "].iter().any(|word| self.result.starts_with(word))
    }

    /// Returns the note of an act. Long fields are cut, and control characters escaped.
    pub fn of(request: &ActRequest<'_>, result: &ActResult<'_>, at: UtcMillis) -> Self {
        let ActRequest { by, from, act, job, why } = *request;
        let fields = Self {
            at,
            by: quoted(by),
            from: quoted(from),
            act,
            job: job.clone(),
            why: why.map(quoted),
            result: quoted(&result.to_string()),
        };
        fields.within_bounds()
    }

    /// Returns the note as one line of JSON without its end, of at most [`NOTE_BYTES`] bytes.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a note has string keys and no failing values")
    }

    /// Parses a line. What another program wrote is cut and escaped like a note that was made here.
    ///
    /// # Errors
    ///
    /// Fails if the line is too long, or lacks a field.
    pub fn parse(line: &str) -> Result<Self, ActNoteError> {
        if line.len() > NOTE_BYTES {
            return Err(ActNoteError::TooLong(line.len()));
        }
        let note: Self = serde_json::from_str(line)
            .map_err(|error| ActNoteError::Malformed { line: quoted(line), why: error.to_string() })?;
        // The text was within its bounds when it was escaped for the first time: no letter of it gets lost.
        let escaped = |text: String| quoted_within(&text, NOTE_BYTES);
        let Self { at, by, from, act, job, why, result } = note;
        let fields = Self {
            at,
            by: escaped(by),
            from: escaped(from),
            act,
            job,
            why: why.map(escaped),
            result: escaped(result),
        };
        Ok(fields.within_bounds())
    }

    /// Cuts the fields, which are escaped already, to so many bytes that all of them fit into a line.
    fn within_bounds(self) -> Self {
        Self {
            by: cut(self.by, BY_BYTES),
            from: cut(self.from, FROM_BYTES),
            why: self.why.map(|why| cut(why, WHY_BYTES)),
            result: cut(self.result, RESULT_BYTES),
            ..self
        }
    }
}

/// Cuts a text without control characters to at most `most` bytes in JSON. A text that is cut ends in `…`.
fn cut(text: String, most: usize) -> String {
    let in_json = |c: char| c.len_utf8() + usize::from(matches!(c, '"' | '\\'));
    if text.chars().map(in_json).sum::<usize>() <= most {
        return text;
    }
    let mut left = most.saturating_sub('…'.len_utf8());
    let fits = |c: &char| {
        let size = in_json(*c);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
