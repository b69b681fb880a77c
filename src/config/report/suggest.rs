//! "Did you mean": finds the known word that a mistyped one was probably meant to be. It finds none rather than a
//! far-fetched one.

use crate::config::sections::keys;
use crate::job;

/// Returns the nearest of the known words: a synonym, or one that differs by a likely slip.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = word.to_lowercase().replace('-', "_");
    if let Some(known) = keys::synonym(&plain).and_then(|ours| known.iter().find(|word| **word == ours)) {
        return Some(known);
    }
    job::nearest(&plain, known.iter().copied())
}

/// Joins words for messages: `a`, `b` or `c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_find_their_word() {
        let known = ["schedule", "timezone", "timeout", "lease", "env"];
        for (typed, meant) in [
            ("shedule", "schedule"),
            ("Timeout", "timeout"),
            ("time-zone", "timezone"),
            ("leaes", "lease"),
            ("envs", "env"),
            ("cron", "schedule"),
        ] {
            assert_eq!(nearest(typed, &known), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_word_that_resembles_none_gets_no_suggestion() {
        assert_eq!(nearest("colour", &["schedule", "lease"]), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn words_are_listed_as_in_a_sentence() {
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
