//! Collects problems while the file is read. What a syntax error leads to further on is not reported as a
//! problem of its own.

use std::ops::Range;

use super::problem::{Problem, Severity};

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Problem>,
    broken: Vec<Range<usize>>,
}

impl Findings {
    /// Starts with what is wrong with the syntax; `broken` are the lines that could not be read.
    pub(super) fn after_syntax(list: Vec<Problem>, broken: Vec<Range<usize>>) -> Self {
        Self { list, broken }
    }

    /// Adds a problem, unless it stands on a line that could not be read anyway.
    pub(super) fn add(&mut self, problem: Problem) {
        let hidden = problem.span.as_ref().is_some_and(|span| {
            self.broken.iter().any(|line| span.start <= line.end && line.start <= span.end)
        });
        if !hidden {
            self.list.push(problem);
        }
    }

    /// Adds that something is not there, unless it may be in a part that could not be read.
    pub(super) fn missing(&mut self, problem: Problem) {
        if self.broken.is_empty() {
            self.list.push(problem);
        }
    }

    /// Whether the file is refused already.
    pub(super) fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// All of them, in the order of the file; those without a place come first.
    pub(super) fn in_order(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| {
            (problem.span.as_ref().map(|span| span.start), problem.severity, problem.message.clone())
        });
        self.list.dedup();
        self.list
    }
}
