//! What is wrong with a schedule. Every problem says where it is, what it is and the way out.

use std::fmt;
use std::ops::Range;

/// One problem of one expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", Suffix(.help.as_deref()))]
pub struct ScheduleError {
    /// Which of the job's expressions, from 0; `None`: the time zone, or that there is no expression at all.
    pub expression: Option<usize>,
    /// Bytes of that text which are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

/// The help, set off from the message before it.
struct Suffix<'a>(Option<&'a str>);

impl fmt::Display for Suffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// A problem of one text, before it is known which of the job's texts that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScheduleProblem {
    /// Bytes of the text which are wrong.
    pub(super) span: Range<usize>,
    /// What is wrong.
    pub(super) message: String,
    /// The way out.
    pub(super) help: String,
}

impl ScheduleProblem {
    /// The same problem, of this expression or (`None`) of the time zone.
    pub(super) fn of(self, expression: Option<usize>) -> ScheduleError {
        ScheduleError { expression, span: self.span, message: self.message, help: Some(self.help) }
    }
}
