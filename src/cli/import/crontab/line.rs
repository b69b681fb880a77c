//! One line of a crontab, as cron reads it: a comment, a variable, or an entry with its times, user and command.

/// The form of a crontab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The crontab of one user: the command follows the times.
    User,
    /// The crontab of the system (`/etc/crontab`, `/etc/cron.d`): the user stands between the times and the command.
    System,
}

/// The kind of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CrontabLine<'a> {
    /// Nothing but spaces.
    Blank,
    /// A comment, with its `#`.
    Comment(&'a str),
    /// `NAME = value`, for the lines below it.
    Variable { name: &'a str, value: &'a str },
    /// A command and its times.
    Entry(Entry<'a>),
    /// None of these, and why.
    Bad(String),
}

/// A command and its times, as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Five fields, or a nickname.
    pub(super) times: Vec<&'a str>,
    /// The user, in the system's form.
    pub(super) user: Option<&'a str>,
    /// The rest of the line.
    pub(super) command: &'a str,
}

const FIELDS: usize = 5;

impl<'a> CrontabLine<'a> {
    /// Reads a line without its end.
    pub(super) fn parse(text: &'a str, form: Form) -> Self {
        let text = text.trim_matches(is_space);
        if text.is_empty() {
            return Self::Blank;
        }
        if text.starts_with('#') {
            return Self::Comment(text);
        }
        if text.contains('\0') {
            return Self::Bad("it has a NUL character, which no command can receive".to_owned());
        }
        // In this order, as in cron: what can be a variable is one.
        variable(text).unwrap_or_else(|| entry(text, form))
    }
}

/// `NAME = value`, where either may be in quotes.
fn variable(text: &str) -> Option<CrontabLine<'_>> {
    let (name, rest) = match quoted(text) {
        Some(Ok(parts)) => parts,
        Some(Err(())) => return None,
        None => text.split_at(text.find(|c| c == '=' || is_space(c))?),
    };
    let value = rest.trim_start_matches(is_space).strip_prefix('=')?.trim_start_matches(is_space);
    Some(match quoted(value) {
        None => CrontabLine::Variable { name, value },
        Some(Ok((value, ""))) => CrontabLine::Variable { name, value },
        Some(Ok((_, rest))) => CrontabLine::Bad(format!(
            "`{}` follows the closing quote of the value",
            rest.trim_matches(is_space)
        )),
        Some(Err(())) => CrontabLine::Bad("the quote before the value is never closed".to_owned()),
    })
}

/// Returns the text in the quotes that `text` begins with, and the text after them; an error if the quotes are not closed.
fn quoted(text: &str) -> Option<Result<(&str, &str), ()>> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(text[1..].split_once(quote).ok_or(()))
}

fn entry(text: &str, form: Form) -> CrontabLine<'_> {
    let mut rest = text;
    let count = if text.starts_with('@') { 1 } else { FIELDS };
    let mut times = Vec::new();
    for _ in 0..count {
        let Some((word, after)) = word(rest) else { break };
        times.push(word);
        rest = after;
    }
    if times.len() < count {
        return CrontabLine::Bad(format!(
            "it has {} of the five fields for the times, and no command",
            times.len()
        ));
    }
    let mut user = None;
    if form == Form::System {
        let Some((name, after)) = word(rest) else {
            return CrontabLine::Bad("the user and the command are missing behind the times".to_owned());
        };
        (user, rest) = (Some(name), after);
    }
    if rest.is_empty() {
        let before = if user.is_some() { "user" } else { "times" };
        return CrontabLine::Bad(format!("the command is missing behind the {before}"));
    }
    CrontabLine::Entry(Entry { times, user, command: rest })
}

/// Returns the first word, and the text after it without leading spaces.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(is_space).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start_matches(is_space)))
}

/// Whether the character separates the words of a crontab. An editor may have left a carriage return.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> CrontabLine<'_> {
        CrontabLine::parse(text, Form::User)
    }

    #[test]
    fn variables_are_read_as_cron_reads_them() {
        for (text, name, value) in [
            ("PATH=/usr/bin:/bin", "PATH", "/usr/bin:/bin"),
            ("  MAILTO = \"a@b\"  ", "MAILTO", "a@b"),
            ("A='  x '", "A", "  x "),
            ("A=it's", "A", "it's"),
            ("A=", "A", ""),
            ("A=x # no comment", "A", "x # no comment"),
            ("\"A B\"=c", "A B", "c"),
            ("A=b\r", "A", "b"),
        ] {
            assert_eq!(user(text), CrontabLine::Variable { name, value }, "{text}");
        }
    }

    #[test]
    fn entries_keep_their_command_as_it_is() {
        let times = vec!["*/5", "0", "*", "*", "MON"];
        let command = "A=1  b \"c  d\" # e";
        let entry = Entry { times: times.clone(), user: None, command };
        assert_eq!(user("\t*/5 0\t* *  MON  A=1  b \"c  d\" # e "), CrontabLine::Entry(entry));
        let entry = Entry { times, user: Some("root"), command: "x" };
        assert_eq!(CrontabLine::parse("*/5 0 * * MON root  x", Form::System), CrontabLine::Entry(entry));
        let entry = Entry { times: vec!["@daily"], user: None, command: "root x" };
        assert_eq!(user("@daily root x"), CrontabLine::Entry(entry));
    }

    #[test]
    fn what_is_neither_is_bad_with_a_reason() {
        for (text, form, why) in [
            ("backup", Form::User, "1 of the five fields"),
            ("* * * * *", Form::User, "the command is missing behind the times"),
            ("@daily", Form::User, "the command is missing behind the times"),
            ("* * * * * root", Form::System, "the command is missing behind the user"),
            ("@daily", Form::System, "the user and the command are missing"),
            ("A=\"b", Form::User, "never closed"),
            ("A=\"b\" c", Form::User, "`c` follows the closing quote"),
            ("* * * * * a\0b", Form::User, "NUL"),
        ] {
            let CrontabLine::Bad(said) = CrontabLine::parse(text, form) else { panic!("{text}") };
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
