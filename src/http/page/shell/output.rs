//! Lines of output as HTML: the text, with the colours as classes.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

use crate::view::text::output_line::{OutputLine, OutputSpan};

use super::part::rendered;

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

#[derive(Template)]
#[template(path = "piece.html")]
struct OutputPieceHtml {
    next: u64,
    lines: Vec<HtmlLine>,
}

/// Returns the element with lines for a page that has the bytes before them; `next` is how many it has with them.
pub(crate) fn piece_html(lines: &[OutputLine], next: u64) -> String {
    rendered(&OutputPieceHtml { next, lines: html_lines(lines) })
}

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
    use crate::http::page::assets::ASSETS;
    use crate::view::text::sgr::SgrColour;

    use super::*;

    #[test]
    fn nothing_that_a_job_prints_becomes_markup() {
        for (printed, shown) in [
            ("<script>alert('x')</script>", "&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;"),
            ("\" onload=\"x&amp;{{ 7 * 7 }}", "&#34; onload=&#34;x&#38;amp;{{ 7 * 7 }}"),
            ("</span></pre><b>", "&#60;/span&#62;&#60;/pre&#62;&#60;b&#62;"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("\u{1b}]8;;javascript:x\u{7}link\u{1b}]8;;\u{7}", "\u{fffd}link\u{fffd}"),
            ("\u{1b}]0;<img>\u{1b}\\after", "\u{fffd}after"),
            ("10 %\r20 %\r<b>30 %", "&#60;b&#62;30 %"),
            ("\u{0}\u{8}\u{c}\u{b}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("event: bye\rdata: x", "data: x"),
        ] {
            let line = OutputLine::stored(format!("2026-11-20T12:00:00.123Z out {printed}\n").as_bytes());
            let html = piece_html(&[line], 7);
            let expected = format!(
                "<pre data-next=\"7\"><span class=\"line\"><i>12:00:00.123</i> {shown}\n</span></pre>"
            );
            assert_eq!(html, expected, "{printed:?}");
        }
    }

    #[test]
    fn a_line_of_a_megabyte_is_shown_cut_and_its_size_on_the_page_is_bounded() {
        let piece = piece_html(&[OutputLine::unstamped("<".repeat(1 << 20).as_bytes())], 0);
        assert!(piece.len() < 100 << 10 && piece.contains("…"), "{} bytes", piece.len());
        let coloured = "\u{1b}[31mx\u{1b}[32my".repeat(64 << 10);
        let piece = piece_html(&[OutputLine::unstamped(coloured.as_bytes())], 0);
        assert!(piece.len() < 100 << 10, "{} bytes", piece.len());
    }

    #[test]
    fn every_colour_has_a_class_that_the_style_sheet_knows_or_is_that_of_plain_text() {
        let (_, style) = ASSETS.texts().next().expect("a style sheet");
        for colour in SgrColour::ALL {
            let is_plain = ["black", "white", "bright-white"].contains(&colour.as_str());
            let class = format!(".c-{}", colour.as_str());
            let has_rule = style.split(['{', ',', '\n']).any(|selector| selector == class);
            assert_eq!(has_rule, !is_plain, "{class}");
        }
    }

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
