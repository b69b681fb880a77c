//! Escapes and shortens foreign text for a log or an error.

/// The most characters that are shown.
const MOST: usize = 200;

/// Returns the first 200 characters of a text. Characters that a terminal would not display as they are, such as
/// control characters, are escaped.
pub fn quoted(text: &str) -> String {
    quoted_within(text, MOST)
}

/// Returns the same of the first `most` characters.
pub fn quoted_within(text: &str, most: usize) -> String {
    let shown = |c: char| {
        let escaped = c.escape_debug();
        // Quotes and backslashes are harmless.
        if escaped.len() == 2 && !c.is_control() { c.to_string() } else { escaped.to_string() }
    };
    let mut quoted: String = text.chars().take(most).map(shown).collect();
    if text.chars().nth(most).is_some() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_the_rest_stays() {
        assert_eq!(quoted("it's \"a\\b\" ünï\u{1b}[2J\n\u{202e}"), "it's \"a\\b\" ünï\\u{1b}[2J\\n\\u{202e}");
    }

    #[test]
    fn no_more_than_the_beginning_is_shown() {
        assert_eq!(quoted(&"ü".repeat(MOST)), "ü".repeat(MOST));
        assert_eq!(quoted(&"ü".repeat(MOST + 1)), "ü".repeat(MOST) + "…");
    }
}
