//! Options of a command line whose values are secrets: `--password=…`. Every user of a machine sees them with `ps`.

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
    let value = value.trim_matches(QUOTES);
    let bare = name.strip_prefix("--")?.to_ascii_lowercase();
    let mut parts = bare.rsplit(['-', '_']);
    let (last, before) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_secret = NAMES.contains(&last) || bare == "apikey" || last == "key" && KEYS.contains(&before);
    let is_elsewhere = ["/", "@", "$", "env:", "file:"].iter().any(|start| value.starts_with(start));
    (is_secret && !is_elsewhere && !value.is_empty()).then_some(name)
}

/// Returns the values of all such options in a line of any text.
pub(crate) fn of_line(line: &str) -> Vec<Range<usize>> {
    let value = |at: usize| {
        let start = at + line[at..].find(|c: char| c == '=' || c.is_whitespace())? + 1;
        let rest = line.get(start..)?;
        let inner = rest.trim_start_matches(QUOTES);
        let start = start + rest.len() - inner.len();
        // A value in quotes may contain blanks.
        let quote = line[..start].chars().next_back().filter(|c| QUOTES.contains(c));
        let is_end = |c: char| quote.map_or(c.is_whitespace() || "\"'`,".contains(c), |quote| c == quote);
        let end = start + inner.find(is_end).unwrap_or(inner.len());
        let end = start + line[start..end].trim_end_matches('\\').len();
        name_of(&line[at..end]).map(|_| start..end)
    };
    line.match_indices("--").filter_map(|(at, _)| value(at)).collect()
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
}
