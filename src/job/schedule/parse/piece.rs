//! A part of a text with its position. A problem found in a part points at exactly its bytes.

use std::ops::Range;

use crate::job::schedule::error::ScheduleProblem;

/// A part of a text, with its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice<'a> {
    /// The part itself.
    pub(crate) text: &'a str,
    /// The position of its first byte in the whole text.
    start: usize,
}

impl<'a> Slice<'a> {
    /// Returns a whole text as one part.
    pub(crate) fn whole(text: &'a str) -> Self {
        Self { text, start: 0 }
    }

    /// Returns its bytes in the whole text.
    pub(crate) fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns a problem that points at exactly these bytes.
    pub(crate) fn problem(self, message: String, help: impl Into<String>) -> ScheduleProblem {
        ScheduleProblem { span: self.span(), message, help: help.into() }
    }

    /// Returns some of its bytes; `range` counts from its first byte.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        Self { text: &self.text[range.clone()], start: self.start + range.start }
    }

    /// Returns it without white space around it.
    pub(crate) fn trimmed(self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        self.slice(start..start + self.text.trim().len())
    }

    /// Splits it at white space.
    pub(crate) fn words(self) -> impl Iterator<Item = Self> {
        let mut rest = self.trimmed();
        std::iter::from_fn(move || {
            let end = rest.text.find(char::is_whitespace).unwrap_or(rest.text.len());
            let word = rest.slice(0..end);
            rest = rest.slice(end..rest.text.len()).trimmed();
            (!word.text.is_empty()).then_some(word)
        })
    }

    /// Splits it at every `separator`, into at least one part.
    pub(crate) fn split(self, separator: char) -> impl Iterator<Item = Self> {
        let mut start = self.start;
        self.text.split(separator).map(move |text| {
            let piece = Slice { text, start };
            start += text.len() + separator.len_utf8();
            piece
        })
    }

    /// Splits it at the first `separator`; `None` if it has none.
    pub(crate) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let at = self.text.find(separator)?;
        Some((self.slice(0..at), self.slice(at + separator.len_utf8()..self.text.len())))
    }

    /// Whether it is a number: one or more digits.
    pub(crate) fn is_number(self) -> bool {
        !self.text.is_empty() && self.text.bytes().all(|b| b.is_ascii_digit())
    }

    /// Returns its number: `u64::MAX` for a larger one, `None` if it is not a number.
    pub(crate) fn number(self) -> Option<u64> {
        self.is_number().then(|| self.text.parse().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_place_in_the_text() {
        let text = "  30\t2 *  ";
        let words: Vec<_> = Slice::whole(text).words().map(|w| (w.text, w.span())).collect();
        assert_eq!(words, [("30", 2..4), ("2", 5..6), ("*", 7..8)]);
        assert_eq!(Slice::whole(" \t ").words().count(), 0);
    }

    #[test]
    fn list_items_keep_their_place_in_the_text() {
        let field = Slice::whole("x 1,,23").slice(2..7);
        let items: Vec<_> = field.split(',').map(|i| (i.text, i.span())).collect();
        assert_eq!(items, [("1", 2..3), ("", 4..4), ("23", 5..7)]);
    }

    #[test]
    fn a_number_beyond_every_bound_is_still_a_number() {
        assert_eq!(Slice::whole("99999999999999999999999").number(), Some(u64::MAX));
        assert_eq!(Slice::whole("007").number(), Some(7));
        assert_eq!(Slice::whole("+7").number(), None);
        assert_eq!(Slice::whole("").number(), None);
    }
}
