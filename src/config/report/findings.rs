//! Collects problems while the file is read. What only follows from a syntax error is not reported as a problem of its
//! own.

use std::ops::Range;

use crate::config::values::document;

use super::problem::{Problem, Severity};

/// Above this number of syntax mistakes, every table counts as changed by one of them.
const MANY: usize = 100;

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Problem>,
    /// How many of them are errors.
    errors: usize,
    broken: Vec<Range<usize>>,
}

impl Findings {
    /// Starts with the problems of the syntax; `broken` are the lines that could not be read.
    pub(crate) fn after_syntax(list: Vec<Problem>, broken: Vec<Range<usize>>) -> Self {
        Self { errors: list.len(), list, broken }
    }

    /// Adds a problem, unless it is on a line that could not be read anyway.
    pub(crate) fn add(&mut self, problem: Problem) {
        let hidden = problem.span.as_ref().is_some_and(|span| {
            self.broken.iter().any(|line| span.start <= line.end && line.start <= span.end)
        });
        if !hidden {
            self.push(problem);
        }
    }

    /// Adds the problem that something is missing, unless it may be in a part that could not be read.
    pub(crate) fn missing(&mut self, problem: Problem) {
        if self.broken.is_empty() {
            self.push(problem);
        }
    }

    fn push(&mut self, problem: Problem) {
        self.errors += usize::from(problem.severity == Severity::Error);
        self.list.push(problem);
    }

    /// Returns how many of the problems are errors.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// Returns the errors without the first `count`.
    pub(crate) fn errors_after(&self, count: usize) -> Vec<Problem> {
        self.list.iter().filter(|problem| problem.severity == Severity::Error).skip(count).cloned().collect()
    }

    /// Whether a part of the file could not be read.
    pub(crate) fn has_unread(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Whether a table of this name may be in a part that could not be read: a part begins with a header that is not a
    /// job's, or contains the name.
    pub(crate) fn may_hide(&self, text: &str, name: &str) -> bool {
        let is_other_header = |part: &str| part.starts_with('[') && !part.starts_with("[jobs.");
        self.broken
            .iter()
            .map(|part| &text[part.clone()])
            .any(|part| is_other_header(part) || part.contains(name))
    }

    /// Whether a syntax mistake may have changed the table of this name, whose key or header is at `at`: the mistake is
    /// in the table, or in a header that names the table. Always true above `MANY` mistakes.
    pub(crate) fn touch(&self, text: &str, name: &str, at: &Range<usize>) -> bool {
        let table = document::table_around(text, at.start);
        let overlaps = |part: &Range<usize>| part.start <= table.end && table.start <= part.end;
        let is_changed =
            |part: &Range<usize>| overlaps(part) || document::is_header_of(text, part.start, name);
        self.broken.len() > MANY || self.broken.iter().any(is_changed)
    }

    /// Returns all problems, in the order of the file; those without a place come first.
    pub(crate) fn in_order(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| {
            (problem.span.as_ref().map(|span| span.start), problem.severity, problem.message.clone())
        });
        self.list.dedup();
        self.list
    }
}
