//! Text that somebody else wrote, as a log or an error shows it.

/// As many characters are shown.
const MOST: usize = 200;

/// The beginning of a text, with whatever a terminal would not show as it is escaped.
pub fn quoted(text: &str) -> String {
    quoted_within(text, MOST)
}

/// The same of at most so many characters.
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
