//! Options of a command line whose values are secrets: `--password=…`, `--password …`. Every user of a machine sees them with
//! `ps`.

use std::ops::Range;

/// The last words of the names of such options.
const NAMES: [&str; 8] = ["pass", "password", "passwd", "passphrase", "pwd", "secret", "token", "credential"];

/// Words that mean a secret before the last word `key`.
const KEYS: [&str; 4] = ["api", "access", "secret", "private"];

/// Characters that may stand around a value.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// Returns the name of such an option, if the word is one with its value. A file, a reference or a variable is not
/// itself a secret.
pub(crate) fn name_of(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=')?;
    (is_secret(name) && is_literal(value.trim_matches(QUOTES))).then_some(name)
}

/// Whether the value of an option of this name is a secret.
fn is_secret(name: &str) -> bool {
    let Some(bare) = name.strip_prefix("--").map(str::to_ascii_lowercase) else { return false };
    let mut parts = bare.rsplit(['-', '_']);
    let (last, before) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    NAMES.contains(&last) || bare == "apikey" || last == "key" && KEYS.contains(&before)
}

/// Whether a value is there, and is no place of one.
fn is_literal(value: &str) -> bool {
    !value.is_empty() && !["/", "@", "$", "env:", "file:"].iter().any(|start| value.starts_with(start))
}

/// Returns the values of all such options in a line of any text.
pub(crate) fn of_line(line: &str) -> Vec<Range<usize>> {
    let value = |at: usize| {
        let start = at + line[at..].find(|c: char| c == '=' || c.is_whitespace())? + 1;
        let value = value_within(line, line.get(start..)?.trim_start_matches(QUOTES));
        name_of(&line[at..value.end]).map(|_| value)
    };
    line.match_indices("--").filter_map(|(at, _)| value(at)).collect()
}

/// Returns the words of a text that follow the names of such options, in a list or in a line of a shell.
pub(crate) fn following(text: &str) -> Vec<Range<usize>> {
    let value = |at: usize| {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c);
        let (name, rest) = text[at..].split_at(text[at..].find(is_end)?);
        let value = match rest.strip_prefix(['"', '\'']) {
            Some(list) => list.trim_start().strip_prefix(',')?.trim_start().strip_prefix(['"', '\''])?,
            None => {
                rest.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']).trim_start_matches(QUOTES)
            }
        };
        let value = value_within(text, value);
        let is_hidden =
            is_secret(name) && is_literal(&text[value.clone()]) && !text[value.clone()].starts_with('-');
        is_hidden.then_some(value)
    };
    text.match_indices("--").filter_map(|(at, _)| value(at)).collect()
}

/// Returns the place of the value with which the rest of a text begins. One in quotes may contain blanks.
fn value_within(text: &str, rest: &str) -> Range<usize> {
    let start = text.len() - rest.len();
    let quote = text[..start].chars().next_back().filter(|c| QUOTES.contains(c));
    let is_end = |c: char| quote.map_or(c.is_whitespace() || "\"'`,".contains(c), |quote| c == quote);
    let end = start + rest.find(is_end).unwrap_or(rest.len());
    start..start + text[start..end].trim_end_matches('\\').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_named_like_a_secret_is_one_and_the_place_of_a_secret_is_none() {
        for (word, name) in [
            ("--password=hunter2", Some("--password")),
            ("--db_Password=hunter2", Some("--db_Password")),
            ("--api-key=hunter2", Some("--api-key")),
            ("--token=hunter2", Some("--token")),
            ("--password-file=secret", None),
            ("--password=/run/secrets/pg", None),
            ("--password=$PGPASSWORD", None),
            ("--password=", None),
            ("--key=hunter2", None),
            ("--compass=north", None),
            ("--max-tokens=5", None),
            ("password=hunter2", None),
        ] {
            assert_eq!(name_of(word), name, "{word}");
        }
    }

    #[test]
    fn values_are_found_in_a_line_of_jobs_toml() {
        for (line, found) in [
            (r#"command = ["x", "--password=hunter2", '--token=abc', "--verbose"]"#, vec!["hunter2", "abc"]),
            (r#"shell = "x --password='hunter 2' --token=abc y""#, vec!["hunter 2", "abc"]),
            (r#"shell = "x --password=\"hunter2\" -- y=z""#, vec!["hunter2"]),
            ("a -- b = 1", vec![]),
            ("--password=", vec![]),
            ("é--token=é", vec!["é"]),
        ] {
            let values: Vec<&str> = of_line(line).into_iter().map(|value| &line[value]).collect();
            assert_eq!(values, found, "{line}");
        }
    }

    #[test]
    fn the_word_after_such_an_option_is_its_value() {
        for (text, found) in [
            (r#"command = ["x", "--token", "abc", "--verbose"]"#, vec!["abc"]),
            ("command = [\n  '--api-key',\n  'hunter 2',\n]", vec!["hunter 2"]),
            (r#"shell = "x --password hunter2 && y --secret \"a b\"""#, vec!["hunter2", "a b"]),
            (r#"shell = "x --password""#, vec![]),
            ("shell = \"x --password\"\nenabled = true", vec![]),
            (r#"command = ["x", "--token"]"#, vec![]),
            (r#"command = ["x", "--token", "--verbose", "y"]"#, vec![]),
            (r#"command = ["x", "--token", "$TOKEN", "--password-file", "y"]"#, vec![]),
            ("x --token=abc d", vec![]),
            ("x --token é", vec!["é"]),
            ("--token", vec![]),
        ] {
            let values: Vec<&str> = following(text).into_iter().map(|value| &text[value]).collect();
            assert_eq!(values, found, "{text}");
        }
    }
}
