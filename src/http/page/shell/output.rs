//! Lines of output as HTML: the text, with the colours as classes.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::view::text::output_line::{OutputLine, OutputSpan};

/// A line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HtmlLine {
    /// When it was complete, `12:00:00.123`; empty if that is not known.
    pub(crate) at: String,
    /// Whether the job wrote it to stderr.
    pub(crate) is_err: bool,
    pub(crate) spans: Vec<HtmlSpan>,
}

/// A part of a line in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HtmlSpan {
    /// The classes of its style; empty for plain text.
    pub(crate) classes: StyleClasses,
    pub(crate) text: String,
}

/// The classes of a style: `c-red bold`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StyleClasses(String);

impl StyleClasses {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for StyleClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// They are words of this file.
impl HtmlSafe for StyleClasses {}

/// Returns lines as they are written into a page.
pub(crate) fn html_lines(lines: &[OutputLine]) -> Vec<HtmlLine> {
    lines.iter().map(html_line).collect()
}

fn html_line(line: &OutputLine) -> HtmlLine {
    let at = line.at.map(|at| at.timestamp().strftime("%H:%M:%S%.3f").to_string());
    HtmlLine {
        at: at.unwrap_or_default(),
        is_err: line.is_err,
        spans: line.spans.iter().map(html_span).collect(),
    }
}

fn html_span(span: &OutputSpan) -> HtmlSpan {
    let style = span.style;
    let colour = style.colour.map(|colour| format!("c-{}", colour.as_str()));
    let words = [(style.is_bold, "bold"), (style.is_faint, "faint"), (style.is_underlined, "under")];
    let words = words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word.to_owned());
    let classes: Vec<String> = colour.into_iter().chain(words).collect();
    HtmlSpan { classes: StyleClasses(classes.join(" ")), text: span.text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_classes_and_the_time_stands_before() {
        let line = OutputLine::stored(b"2026-11-20T12:00:00.123Z err a\x1b[1;31mb\x1b[0mc\n");
        let [line] = &html_lines(&[line])[..] else { panic!("one line") };
        assert_eq!((line.at.as_str(), line.is_err), ("12:00:00.123", true));
        let spans: Vec<(String, &str)> =
            line.spans.iter().map(|span| (span.classes.to_string(), span.text.as_str())).collect();
        assert_eq!(spans, [(String::new(), "a"), ("c-red bold".to_owned(), "b"), (String::new(), "c")]);
    }
}
