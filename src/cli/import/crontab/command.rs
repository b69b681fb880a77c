//! The command of an entry, split into what the shell gets, and what cron writes to its standard input.

/// A command, split at its percent signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// What the shell gets.
    pub(super) line: String,
    /// What cron writes to the command's standard input; `None` if no unescaped `%` is followed by text.
    pub(super) input: Option<String>,
    /// Whether a `\%` was written as `%`.
    pub(super) had_escapes: bool,
}

impl Script {
    /// Splits a command. The first `%` ends it, unless a backslash stands before that; the backslash is removed.
    pub(super) fn of(command: &str) -> Self {
        let (mut line, mut had_escapes, mut rest) = (String::new(), false, command);
        while let Some((before, after)) = rest.split_once('%') {
            let Some(before) = before.strip_suffix('\\') else {
                line.push_str(before);
                return Self::new(&line, Some(after).filter(|input| !input.is_empty()), had_escapes);
            };
            line.push_str(before);
            line.push('%');
            (had_escapes, rest) = (true, after);
        }
        line.push_str(rest);
        Self::new(&line, None, had_escapes)
    }

    fn new(line: &str, input: Option<&str>, had_escapes: bool) -> Self {
        Self { line: line.trim_end().to_owned(), input: input.map(str::to_owned), had_escapes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_percent_sign_begins_the_input_and_a_backslash_keeps_one() {
        for (command, line, input, had_escapes) in [
            ("a b", "a b", None, false),
            (r"date +\%F", "date +%F", None, true),
            (r"date +'\%Y\%m'", "date +'%Y%m'", None, true),
            ("mail x%hello%there", "mail x", Some("hello%there"), false),
            (r"a \%b %c\%d", "a %b", Some(r"c\%d"), true),
            ("a %", "a", None, false),
            ("%a", "", Some("a"), false),
            (r"printf a\\n", r"printf a\\n", None, false),
        ] {
            let script = Script { line: line.into(), input: input.map(str::to_owned), had_escapes };
            assert_eq!(Script::of(command), script, "{command}");
        }
    }
}
