//! "Did you mean": finds the known word that a mistyped one was probably meant to be. It finds none rather than a
//! far-fetched one.

use crate::job;

/// Words of other programs for things that have another name here.
const SYNONYMS: &[(&str, &str)] = &[
    ("cron", "schedule"),
    ("cmd", "command"),
    ("exec", "command"),
    ("run", "command"),
    ("tz", "timezone"),
    ("environment", "env"),
    ("dir", "cwd"),
    ("workdir", "cwd"),
    ("working_dir", "cwd"),
    ("working_directory", "cwd"),
    ("ttl", "lease"),
    ("url", "store"),
    ("redis", "store"),
    ("disabled", "enabled"),
    ("labels", "only_on"),
    ("concurrency", "overlap"),
    ("retention", "keep"),
    ("job", "jobs"),
    ("default", "defaults"),
];

/// Returns the nearest of the known words: a synonym, or one that differs by a likely slip.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = word.to_lowercase().replace('-', "_");
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours);
    if let Some(known) = synonym.and_then(|ours| known.iter().find(|word| **word == ours)) {
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
