//! "Did you mean": the known word that a mistyped one was probably meant to be. It says nothing rather than
//! something far-fetched.

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

/// The nearest of the known words: a synonym, or one at most a third of its letters away.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = word.to_lowercase().replace('-', "_");
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours);
    if let Some(known) = synonym.and_then(|ours| known.iter().find(|word| **word == ours)) {
        return Some(known);
    }
    let far = |candidate: &str| distance(&plain, candidate);
    let near = known.iter().copied().min_by_key(|candidate| far(candidate))?;
    let letters = near.chars().count().max(plain.chars().count());
    (far(near) <= (letters / 3).max(1)).then_some(near)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour to get from one to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let change = above[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

/// `a`, `b` or `c`, for messages.
pub(super) fn one_of(words: &[&str]) -> String {
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
    fn a_swap_counts_once() {
        assert_eq!(distance("lsaee", "lease"), 2);
        assert_eq!(distance("laese", "lease"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn words_are_listed_as_in_a_sentence() {
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
