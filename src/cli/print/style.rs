//! The meaning of colours, in one place: the same outcome looks the same in every table.

use anstyle::{AnsiColor, Style};

use crate::job::Outcome;

/// The meaning of a text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// No special meaning.
    Plain,
    /// Less important.
    Quiet,
    /// A heading.
    Strong,
    /// As it should be.
    Good,
    /// Under way, or left out on purpose.
    InProgress,
    /// Needs attention.
    Warning,
    /// Wrong.
    Bad,
}

impl TextStyle {
    /// Returns the style of an outcome.
    pub(crate) const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeded => Self::Good,
            Outcome::Running | Outcome::Skipped => Self::InProgress,
            Outcome::Killed => Self::Warning,
            Outcome::Failed
            | Outcome::TimedOut
            | Outcome::Interrupted
            | Outcome::Missed
            | Outcome::Unknown => Self::Bad,
        }
    }

    /// Returns the text in this style; a screen without colours removes the style again.
    pub(crate) fn paint(self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let (before, after) = self.around();
        before + text + &after
    }

    /// Returns the escape sequences before and after a text in this style.
    pub(crate) fn around(self) -> (String, String) {
        let style = match self {
            Self::Plain => Style::new(),
            Self::Quiet => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::InProgress => AnsiColor::Cyan.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
        };
        (style.to_string(), format!("{style:#}"))
    }
}
