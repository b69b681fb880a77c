//! Finds lines and columns of a text without reading all of it for each.

use crate::config::source::Source;
use crate::config::values::document;

use super::problem::Problem;

/// The positions at which the lines of a text begin.
#[derive(Debug)]
pub struct Places<'s> {
    text: &'s str,
    starts: Vec<usize>,
}

impl<'s> Places<'s> {
    /// Returns the places of a file.
    pub fn of(source: &'s Source) -> Self {
        Self::of_text(&source.text)
    }

    /// Returns the places of any text.
    pub(crate) fn of_text(text: &'s str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(newlines).collect() }
    }

    /// Returns line and column of a problem, counted from 1, columns in characters; `None` if it has no place.
    pub fn of_problem(&self, problem: &Problem) -> Option<(usize, usize)> {
        problem.span.as_ref().map(|span| self.at(span.start))
    }

    /// Returns line and column of a byte.
    pub(crate) fn at(&self, at: usize) -> (usize, usize) {
        let at = document::within(self.text, at..at).start;
        let line = self.starts.partition_point(|start| *start <= at);
        (line, self.text[self.starts[line - 1]..at].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_from_one_in_characters() {
        let places = Places::of_text("é = 1\n\nb");
        let found = [0, 2, 3, 6, 7, 8, 99].map(|at| places.at(at));
        assert_eq!(found, [(1, 1), (1, 2), (1, 3), (1, 6), (2, 1), (3, 1), (3, 2)]);
    }
}
