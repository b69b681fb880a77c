//! A value with its place in the file. A part of a string has a place of its own as long as no escape has moved it.

use std::ops::Range;

/// A value with its bytes in the text of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

impl Placed<String> {
    /// Returns the place of a part of the string in the file; that of the whole value if the part's is not known.
    pub(crate) fn part(&self, part: &Range<usize>) -> Range<usize> {
        // Escapes and triple quotes only ever make the written text longer than its value and two quotes.
        let as_written = self.span.len() == self.value.len() + 2;
        let inside = part.start < part.end && self.value.get(part.clone()).is_some();
        if !as_written || !inside {
            return self.span.clone();
        }
        let start = self.span.start + 1;
        start + part.start..start + part.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointed_at<'t>(text: &'t str, value: &str, part: Range<usize>) -> &'t str {
        &text[Placed { value: value.to_owned(), span: 0..text.len() }.part(&part)]
    }

    #[test]
    fn a_part_of_a_plain_string_is_found_within_its_quotes() {
        assert_eq!(pointed_at(r#""99 2 * * *""#, "99 2 * * *", 0..2), "99");
        assert_eq!(pointed_at("'é 2'", "é 2", 3..4), "2");
    }

    #[test]
    fn the_whole_value_stands_for_a_part_that_escapes_have_moved() {
        for text in [r#""99\u00202""#, r#""""99 2""""#, "'''\n99 2'''"] {
            assert_eq!(pointed_at(text, "99 2", 0..2), text);
        }
    }

    #[test]
    fn the_whole_value_stands_for_a_part_that_is_not_there() {
        for part in [3..3, 2..400, 1..2] {
            assert_eq!(pointed_at("\"é 2\"", "é 2", part), "\"é 2\"");
        }
    }
}
