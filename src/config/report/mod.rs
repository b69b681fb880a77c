//! Draws problems as rustc does: the line with the wrong part underlined, and below it how to correct it. No value that
//! may be a secret is ever drawn.

pub(super) mod findings;
pub(super) mod places;
pub(super) mod problem;
pub(super) mod suggest;

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use places::Places;
use problem::{Problem, Severity, tally};

use super::secrets::mask::Masked;
use super::source::Source;
use super::values::document;

/// The most problems that are drawn: users do not read more, and each takes time.
pub const MOST_DRAWN: usize = 50;

/// Draws problems as [`draw`] does, and their number at the end.
pub fn render(problems: &[Problem], source: &Source, colour: bool) -> String {
    let mut drawn = draw(problems, source, colour);
    if !problems.is_empty() {
        drawn.push_str(&format!("{}: {}\n", source.path.display(), tally(problems)));
    }
    drawn
}

/// Draws the first [`MOST_DRAWN`] problems, each with its place in the text and an empty line after it, and states how
/// many more there are.
pub fn draw(problems: &[Problem], source: &Source, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let masked = Masked::new(&source.text);
    let page = ReportPage {
        source,
        path: source.path.display().to_string(),
        masked: &masked,
        real_places: Places::of(source),
        shown_places: Places::of_text(&masked.text),
    };
    let shown = problems.iter().take(MOST_DRAWN);
    let drawn: String = shown.map(|problem| page.draw(problem, &renderer) + "\n\n").collect();
    match problems.len().saturating_sub(MOST_DRAWN) {
        0 => drawn,
        more => format!("{drawn}… and {more} more, which are not shown\n\n"),
    }
}

/// The file, with its text as it is shown.
struct ReportPage<'s> {
    source: &'s Source,
    path: String,
    masked: &'s Masked,
    real_places: Places<'s>,
    shown_places: Places<'s>,
}

impl<'p> ReportPage<'p> {
    fn draw(&'p self, problem: &'p Problem, renderer: &Renderer) -> String {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let place: Element<'_> = match &problem.span {
            Some(span) => self.snippet(span.clone(), problem).into(),
            None => Origin::path(self.path.as_str()).into(),
        };
        let help = problem.help.iter().map(|help| Level::HELP.message(help));
        let notes = problem.notes.iter().map(|note| Level::NOTE.message(note));
        let title = level.primary_title(problem.message.as_str());
        let drawn = renderer.render(&[title.element(place).elements(help.chain(notes))]);
        match &problem.span {
            Some(span) => self.with_real_column(drawn, span.start),
            None => drawn,
        }
    }

    fn snippet(&'p self, span: Range<usize>, problem: &'p Problem) -> Snippet<'p, Annotation<'p>> {
        let primary = AnnotationKind::Primary.span(self.shown(span)).label(problem.label.as_deref());
        let also = problem.also.clone();
        let context = also.map(|(span, label)| AnnotationKind::Context.span(self.shown(span)).label(label));
        Snippet::source(self.masked.text.as_str())
            .path(self.path.as_str())
            .annotation(primary)
            .annotations(context)
    }

    /// Returns the place in the masked text; of a value of several lines only the first line.
    fn shown(&self, span: Range<usize>) -> Range<usize> {
        let span = document::within(&self.source.text, span);
        let first_line = self.source.text[span.clone()].lines().next().map_or(0, str::len);
        self.masked.place_of(span.start)..self.masked.place_of(span.start + first_line)
    }

    /// Replaces the column in the masked text by that in the real file, to which editors jump. A secret that was masked
    /// earlier on the line has moved the rest of it.
    fn with_real_column(&self, drawn: String, at: usize) -> String {
        let (line, real) = self.real_places.at(at);
        let (_, shown) = self.shown_places.at(self.masked.place_of(at));
        if real == shown {
            return drawn;
        }
        let place = |column: usize| format!("{}:{line}:{column}", self.path);
        drawn.replacen(&place(shown), &place(real), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("jobs.toml", text)
    }

    #[test]
    fn the_column_is_that_of_the_real_file_also_behind_a_masked_password() {
        let text = "é = { cwd = \"redis://:hunter2@h\", B = 1 }";
        let at = text.find("1 }").expect("is there");
        let drawn = render(&[Problem::error("odd").at(at..at + 1)], &source(text), false);
        assert!(drawn.contains("jobs.toml:1:39"), "{drawn}");
        assert!(drawn.contains("é = { cwd = \"redis://:***@h\", B = 1 }"), "{drawn}");
        let underline = drawn.lines().find(|line| line.contains('^')).expect("is underlined");
        let shown = drawn.lines().find(|line| line.contains("cwd")).expect("is shown");
        let column = |line: &str, what: char| line.chars().position(|c| c == what);
        assert_eq!(column(underline, '^'), column(shown, '}').map(|brace| brace - 2), "{drawn}");
    }

    #[test]
    fn a_value_of_many_lines_is_underlined_on_its_first() {
        let text = "a = [\n  1,\n  2,\n]\n";
        let drawn = render(&[Problem::error("odd").at(4..text.len() - 1)], &source(text), false);
        assert!(drawn.contains("1 | a = [\n  |     ^\n"), "{drawn}");
    }

    #[test]
    fn colour_is_there_only_when_asked_for() {
        let problems = [Problem::warning("odd").at(0..1).help("even".to_owned())];
        assert!(render(&problems, &source("a"), true).contains('\u{1b}'));
        assert!(!render(&problems, &source("a"), false).contains('\u{1b}'));
    }
}
