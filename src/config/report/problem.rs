//! One problem of jobs.toml, and the list of them. A problem has a place, a message and a help. The report draws it.

use std::fmt;
use std::ops::Range;

use crate::config::secrets::mask::mask;

/// Whether a problem refuses the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is valid, but probably not what was meant.
    Warning,
}

impl Severity {
    /// Returns its name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One problem of jobs.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether it refuses the file.
    pub severity: Severity,
    /// Its bytes in the text of the file; `None` if it has no place, as for a table that is missing.
    pub span: Option<Range<usize>>,
    /// What is wrong: the key and the value, without any password of a URL.
    pub message: String,
    /// A few words under the underlined text.
    pub label: Option<String>,
    /// Another place that is related to it, with a label.
    pub also: Option<(Range<usize>, String)>,
    /// How to correct it.
    pub help: Option<String>,
    /// Reasons for the rule, where they are not obvious.
    pub notes: Vec<String>,
}

impl Problem {
    /// Returns an error without a place yet.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            span: None,
            message: mask(&message.into()),
            label: None,
            also: None,
            help: None,
            notes: Vec::new(),
        }
    }

    /// Returns a warning without a place yet.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// Sets its place in the text.
    #[must_use]
    pub fn at(self, span: impl Into<Option<Range<usize>>>) -> Self {
        Self { span: span.into(), ..self }
    }

    /// Sets the words under the underlined text.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets another place that is related to it.
    #[must_use]
    pub fn also(self, span: Range<usize>, label: impl Into<String>) -> Self {
        Self { also: Some((span, label.into())), ..self }
    }

    /// Sets how to correct it.
    #[must_use]
    pub fn help(self, help: impl Into<Option<String>>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Adds the reason for the rule.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// All problems of a file, in the order of the file; at least one of them is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Returns the warnings; all problems as `Err` if one of them is an error.
    pub(crate) fn unless_harmless(list: Vec<Problem>) -> Result<Vec<Problem>, Self> {
        if list.iter().any(|problem| problem.severity == Severity::Error) {
            Err(Self(list))
        } else {
            Ok(list)
        }
    }

    /// Returns the errors, in the order of the file.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter().filter(|problem| problem.severity == Severity::Error)
    }

    /// Returns all problems in the order of the file, those without a place first.
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

/// Counts problems: `3 errors, 1 warning`.
pub(crate) fn tally(problems: &[Problem]) -> String {
    let count = |severity: Severity| {
        let n = problems.iter().filter(|problem| problem.severity == severity).count();
        (n > 0).then(|| format!("{n} {}{}", severity.as_str(), if n == 1 { "" } else { "s" }))
    };
    let parts = [Severity::Error, Severity::Warning].map(count);
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Problems {
    /// Writes one line for logs: how many problems there are, and the first error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.errors().next();
        write!(f, "{}", tally(&self.0))?;
        first.map_or(Ok(()), |problem| write!(f, ": {}", problem.message))
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_alone_refuse_nothing() {
        let list = vec![Problem::warning("odd")];
        assert_eq!(Problems::unless_harmless(list.clone()), Ok(list));
    }

    #[test]
    fn a_message_never_quotes_a_password() {
        assert_eq!(Problem::error("`redis://:hunter2@h` is odd").message, "`redis://:***@h` is odd");
    }

    #[test]
    fn a_list_is_summed_up_with_its_first_error() {
        let list = vec![Problem::warning("odd"), Problem::error("wrong"), Problem::error("worse")];
        let problems = Problems::unless_harmless(list).expect_err("has errors");
        assert_eq!(problems.to_string(), "2 errors, 1 warning: wrong");
    }
}
