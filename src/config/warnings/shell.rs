//! Parses as much shell syntax as warnings need: what is quoted, and the words of a line. It guesses, and only warnings
//! depend on it.

/// Programs that read a script from their arguments, in which `$` has a meaning.
const READERS: &[&str] = &[
    "sh", "bash", "dash", "ash", "ksh", "zsh", "fish", "awk", "gawk", "mawk", "nawk", "perl", "php", "ruby",
    "ssh",
];

/// Words after which a command begins.
const BEFORE_COMMANDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}"];

/// Whether a line pipes one command into another, outside of quotes.
pub(super) fn has_pipe(line: &str) -> bool {
    let bare = unquoted(line);
    let bytes = bare.as_bytes();
    (0..bytes.len()).any(|at| {
        let beside = |other: Option<&u8>| other == Some(&b'|');
        let alone =
            !beside(at.checked_sub(1).and_then(|before| bytes.get(before))) && !beside(bytes.get(at + 1));
        // `>|` overwrites a file: no pipe.
        bytes[at] == b'|' && alone && at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'>')
    })
}

/// Returns the line with everything in quotes, or behind a backslash or `#`, blanked out.
fn unquoted(line: &str) -> String {
    let mut bare = String::with_capacity(line.len());
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None | Some('"'), '\\') => {
                letters.next();
                bare.push('_');
            }
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if bare.is_empty() || bare.ends_with(char::is_whitespace) => {
                bare.extend(letters.by_ref().find(|letter| *letter == '\n'));
            }
            (None, _) => bare.push(letter),
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => bare.push('_'),
        }
    }
    bare
}

/// Returns the words of the first command of a line.
pub(super) fn first_command(line: &str) -> Vec<&str> {
    let end = line.find([';', '|', '&', '\n']).unwrap_or(line.len());
    let assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
    line[..end].split_whitespace().skip_while(assignment).collect()
}

/// Returns the words of all commands of a line, as far as they are not in quotes.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut parted, mut depth, mut is_within) = (String::with_capacity(line.len()), 0, false);
    for letter in unquoted(line).chars() {
        match letter {
            '(' => depth += 1,
            '`' => is_within = !is_within,
            _ => {}
        }
        match letter {
            // What follows a substitution belongs to the command around it.
            ')' if depth > 0 => {
                depth -= 1;
                parted.push_str("\n_ ");
            }
            '`' if !is_within => parted.push_str("\n_ "),
            ';' | '|' | '&' | '(' | ')' | '`' => parted.push('\n'),
            _ => parted.push(letter),
        }
    }
    let is_before = |word: &&str| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
        is_assignment || BEFORE_COMMANDS.contains(word)
    };
    let words = |part: &str| part.split_whitespace().skip_while(is_before).map(str::to_owned).collect();
    parted.lines().map(words).filter(|words: &Vec<String>| !words.is_empty()).collect()
}

/// Returns the script that a shell among these words reads from its arguments.
pub(super) fn script<'a>(words: &[&'a str]) -> Option<&'a str> {
    let is_flag = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = words.iter().position(is_flag)?;
    words.get(at + 1).copied().filter(|_| has_reader(&words[..at]))
}

/// Returns the last part of a path: `/usr/bin/ssh` is `ssh`.
pub(super) fn program_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a program among these words reads a script in which `$` has a meaning of its own.
pub(super) fn has_reader(words: &[&str]) -> bool {
    words.iter().any(|word| READERS.contains(&program_name(word)))
}

/// Returns the first `$NAME` or `${…}` of a word.
pub(super) fn variable(word: &str) -> Option<&str> {
    word.match_indices('$').find_map(|(at, _)| {
        let rest = &word[at + 1..];
        let name =
            rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
        match rest.chars().next()? {
            '{' => Some(&word[at..at + 2 + rest.find('}').unwrap_or(0)]),
            first if first.is_ascii_alphabetic() || first == '_' => Some(&word[at..at + 1 + name]),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_counts_only_where_a_shell_would_see_one() {
        for line in ["a | b", "a|b", "a |& b", "echo 'x' | y", "a || b | c", "# x\na | b"] {
            assert!(has_pipe(line), "{line}");
        }
        for line in ["a || b", "echo 'a | b'", "echo \"a | b\"", "echo a\\|b", "a # | b", "a >| b", "a", ""] {
            assert!(!has_pipe(line), "{line}");
        }
    }

    #[test]
    fn variables_are_found_and_other_dollars_are_not() {
        for (word, found) in [
            ("$HOME/x", Some("$HOME")),
            ("a${B}c", Some("${B}")),
            ("${open", Some("${")),
            ("s/x$//", None),
            ("$1", None),
            ("costs 5$", None),
        ] {
            assert_eq!(variable(word), found, "{word}");
        }
    }

    #[test]
    fn assignments_before_a_command_are_passed_over() {
        assert_eq!(first_command("A=1 ssh -p 2 host; true"), ["ssh", "-p", "2", "host"]);
        assert_eq!(first_command("dd if=x of=y | gzip"), ["dd", "if=x", "of=y"]);
        assert_eq!(first_command(""), Vec::<&str>::new());
    }

    #[test]
    fn every_command_of_a_line_is_seen_and_no_argument_is_taken_for_one() {
        let begins_with_su = |line: &str| commands(line).iter().any(|words| words[0] == "su");
        for line in [
            "su x",
            "cd /; su x",
            "cd / && su x",
            "a | su x",
            "(su x)",
            "A=$(su x)",
            "echo `su x`",
            "a & su x",
            "a\nsu x",
            "if a; then su x; fi",
            "if su x; then a; fi",
            "for a in b; do A=1 su x; done",
            "! su x",
            "{ su x; }",
            "case $a in b) su x;; esac",
        ] {
            assert!(begins_with_su(line), "{line}");
        }
        for line in [
            "echo su",
            "echo 'a; su x'",
            "echo \"(su x)\"",
            "a # ; su",
            "echo $(date) su",
            "echo `date` su",
            "a \\; su",
            "a --b=su",
            "sum x",
            "",
        ] {
            assert!(!begins_with_su(line), "{line}");
        }
    }

    #[test]
    fn the_script_of_a_shell_is_the_word_behind_its_flag() {
        assert_eq!(script(&["nice", "/bin/bash", "-euc", "su x", "y"]), Some("su x"));
        for words in [&["tar", "-c", "x"][..], &["sh", "x", "--c"], &["sh", "-c"]] {
            assert_eq!(script(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_shell_or_awk_behind_a_wrapper_is_seen() {
        assert!(has_reader(&["sudo", "/bin/bash", "-c", "echo $HOME"]));
        assert!(!has_reader(&["echo", "bash-completion"]));
    }
}
