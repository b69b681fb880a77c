//! Draws problems as rustc does: the line, what is wrong in it underlined, and the way out below. No password of a
//! URL is ever drawn.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::document;
use super::mask::{Masked, mask};
use super::problem::{Problem, Severity, tally};
use super::source::Source;

/// All problems, each with its place in the file, and their number at the end.
pub fn render(problems: &[Problem], source: &Source, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let page = Page { source, path: source.path.display().to_string(), masked: Masked::new(&source.text) };
    let mut drawn: String =
        problems.iter().map(|problem| renderer.render(&[page.draw(problem)]) + "\n\n").collect();
    if !problems.is_empty() {
        drawn.push_str(&format!("{}: {}\n", page.path, tally(problems)));
    }
    drawn
}

/// The file as it is shown.
struct Page<'s> {
    source: &'s Source,
    path: String,
    masked: Masked,
}

impl<'p> Page<'p> {
    fn draw(&'p self, problem: &Problem) -> Group<'p> {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut elements: Vec<Element<'p>> = vec![self.origin(problem).into()];
        elements.extend(self.snippet(problem).map(Element::from));
        elements.extend(problem.help.iter().map(|help| Level::HELP.message(mask(help)).into()));
        elements.extend(problem.notes.iter().map(|note| Level::NOTE.message(mask(note)).into()));
        Group::with_title(level.primary_title(mask(&problem.message))).elements(elements)
    }

    /// Line and column in the real file, where masking has moved nothing.
    fn origin(&self, problem: &Problem) -> Origin<'p> {
        let origin = Origin::path(self.path.clone());
        let Some(span) = &problem.span else { return origin };
        let before = &self.source.text[..document::within(&self.source.text, span.clone()).start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        origin.line(before.matches('\n').count() + 1).char_column(before[line_start..].chars().count() + 1)
    }

    fn snippet(&'p self, problem: &Problem) -> Option<Snippet<'p, Annotation<'p>>> {
        let span = self.shown(problem.span.clone()?);
        let primary = AnnotationKind::Primary.span(span).label(problem.label.as_deref().map(mask));
        let context = problem
            .also
            .clone()
            .map(|(span, label)| AnnotationKind::Context.span(self.shown(span)).label(label));
        Some(Snippet::source(self.masked.text.as_str()).annotation(primary).annotations(context))
    }

    /// The place in the masked text, of a value of many lines only the first.
    fn shown(&self, span: Range<usize>) -> Range<usize> {
        let span = document::within(&self.source.text, span);
        let first_line = self.source.text[span.clone()].lines().next().map_or(0, str::len);
        self.masked.place_of(span.start)..self.masked.place_of(span.start + first_line)
    }
}
