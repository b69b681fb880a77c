//! The beginning of a text that may be of any length. jobs.toml bounds neither descriptions nor schedules, and a page has to
//! stay small.

use std::borrow::Cow;

/// The longest text in a row of a list, in characters.
pub(crate) const IN_A_ROW: usize = 200;

/// Returns a text of at most so many characters: its beginning and an ellipsis if it is longer.
pub(crate) fn excerpt(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_with_an_ellipsis() {
        for (text, expected) in [("", ""), ("äöü", "äöü"), ("äöüx", "äö…")] {
            assert_eq!(excerpt(text, 3), expected);
        }
    }
}
