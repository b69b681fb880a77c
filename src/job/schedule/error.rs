//! The problems of a schedule. Each has a place, a message and a help that shows how to correct it.

use std::fmt;
use std::ops::Range;

/// One problem of one expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", Suffix(.help.as_deref()))]
pub struct ScheduleError {
    /// The index of the expression among the job's, from 0. `None`: the problem is the time zone, or that there is no
    /// expression.
    pub expression: Option<usize>,
    /// The wrong bytes of that text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// How to correct it.
    pub help: Option<String>,
}

/// The help behind a message, with `; ` in between.
struct Suffix<'a>(Option<&'a str>);

impl fmt::Display for Suffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// A problem of one text, before it is known which of the job's texts that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScheduleProblem {
    /// The wrong bytes of the text.
    pub(super) span: Range<usize>,
    /// What is wrong.
    pub(super) message: String,
    /// How to correct it.
    pub(super) help: String,
}

impl ScheduleProblem {
    /// Returns the problem as one of this expression or (`None`) of the time zone.
    pub(super) fn of(self, expression: Option<usize>) -> ScheduleError {
        ScheduleError { expression, span: self.span, message: self.message, help: Some(self.help) }
    }
}
