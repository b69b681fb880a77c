//! `${NAME}` and `${file:/path}` within a string, with `$${` as a literal `${`. The syntax is checked when the file is
//! read; the values are looked up only where they are needed.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads a whole file as text.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// The functions that look up references.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) read_file: ReadFile<'a>,
}

/// A string split at its references.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<TextPart>,
}

#[derive(Debug, PartialEq, Eq)]
enum TextPart {
    Text(String),
    Variable(String, Range<usize>),
    File(PathBuf, Range<usize>),
}

/// A reference that is malformed or cannot be resolved. It never contains a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {help}")]
pub(crate) struct ReferenceError {
    pub(crate) message: String,
    pub(crate) help: String,
    /// Its bytes within the string.
    pub(crate) span: Range<usize>,
}

impl Template {
    /// Splits a string at its references.
    pub(crate) fn parse(text: &str) -> Result<Self, ReferenceError> {
        let mut pieces = Vec::new();
        let mut from = 0;
        while let Some(dollar) = text[from..].find("${").map(|at| from + at) {
            if text[from..dollar].ends_with('$') {
                pieces.push(TextPart::Text(format!("{}{{", &text[from..dollar])));
                from = dollar + 2;
                continue;
            }
            let Some(length) = text[dollar..].find('}') else {
                return Err(ReferenceError {
                    message: "has a `${` that is never closed".into(),
                    help: "close it with `}`, or write `$${` for a literal `${`".into(),
                    span: dollar..text.len(),
                });
            };
            pieces.push(TextPart::Text(text[from..dollar].to_owned()));
            from = dollar + length + 1;
            pieces.push(reference(&text[dollar + 2..from - 1], dollar..from)?);
        }
        pieces.push(TextPart::Text(text[from..].to_owned()));
        Ok(Self { pieces })
    }

    /// Whether it has references.
    pub(crate) fn has_references(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, TextPart::Text(_)))
    }

    /// Returns the file, if the string is a reference to one, and nothing else.
    pub(crate) fn only_file(&self) -> Option<&Path> {
        let is_empty = |piece: &&TextPart| matches!(piece, TextPart::Text(text) if text.is_empty());
        let mut parts = self.pieces.iter().filter(|piece| !is_empty(piece));
        match (parts.next(), parts.next()) {
            (Some(TextPart::File(path, _)), None) => Some(path),
            _ => None,
        }
    }

    /// Returns the variables that it refers to.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TextPart::Variable(name, _) => Some(name.as_str()),
            TextPart::Text(_) | TextPart::File(..) => None,
        })
    }

    /// Returns the string with every reference replaced, or all references that cannot be resolved.
    pub(crate) fn fill(&self, lookup: Lookup<'_>) -> Result<String, Vec<ReferenceError>> {
        let (mut filled, mut errors) = (String::new(), Vec::new());
        for piece in &self.pieces {
            match piece.fill(lookup) {
                Ok(text) => filled.push_str(&text),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(filled) } else { Err(errors) }
    }
}

impl TextPart {
    fn fill(&self, lookup: Lookup<'_>) -> Result<String, ReferenceError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Variable(name, span) => (lookup.env)(name).ok_or_else(|| ReferenceError {
                message: format!("refers to the variable `{name}`, which is not set"),
                help: format!(
                    "set `{name}` in the environment of solocron, or write `$${{` for a literal `${{`"
                ),
                span: span.clone(),
            }),
            Self::File(path, span) => match (lookup.read_file)(path) {
                Ok(text) => Ok(without_newline(&text).to_owned()),
                Err(error) => Err(ReferenceError {
                    message: format!("refers to the file {}, which cannot be read: {error}", path.display()),
                    help: "create the file, or make it readable for the user that runs solocron".into(),
                    span: span.clone(),
                }),
            },
        }
    }
}

/// Removes the newline at the end of a file made with an editor or `echo`: it is no part of the secret.
fn without_newline(text: &str) -> &str {
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

fn reference(name: &str, span: Range<usize>) -> Result<TextPart, ReferenceError> {
    let refuse =
        |message: String, help: &str| Err(ReferenceError { message, help: help.into(), span: span.clone() });
    if let Some(path) = name.strip_prefix("file:") {
        if !path.starts_with('/') {
            let help = "write the whole path: `${file:/run/secrets/name}`";
            return refuse(format!("refers to the file `{path}`, which is not an absolute path"), help);
        }
        return Ok(TextPart::File(PathBuf::from(path), span));
    }
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if name.is_empty() {
        return refuse("has a `${}` without a name".into(), "write `${NAME}`, or `$${` for a literal `${`");
    }
    if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let help = "write `${NAME}` or `${file:/path}`, or `$${` for a literal `${`";
        return refuse(format!("has a `${{{name}}}`, which is not a variable name"), help);
    }
    Ok(TextPart::Variable(name.to_owned(), span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, Vec<ReferenceError>> {
        let env = |name: &str| (name == "USER").then(|| "ann".to_owned());
        let read_file = |path: &Path| match path.to_str() {
            Some("/run/pw") => Ok("secret\n".to_owned()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Template::parse(text).map_err(|error| vec![error])?.fill(Lookup { env: &env, read_file: &read_file })
    }

    #[test]
    fn references_are_replaced_and_everything_else_is_left_alone() {
        for (text, filled) in [
            ("${USER}", "ann"),
            ("redis://${USER}:${file:/run/pw}@h", "redis://ann:secret@h"),
            ("$${USER} and $USER and $$ and ${USER}", "${USER} and $USER and $$ and ann"),
            ("{USER} }", "{USER} }"),
            ("", ""),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn only_the_last_line_end_of_a_file_is_cut() {
        assert_eq!(without_newline("a\r\n"), "a");
        assert_eq!(without_newline("a\n\n"), "a\n");
        assert_eq!(without_newline(" a "), " a ");
    }

    #[test]
    fn every_reference_that_stands_for_nothing_is_named_with_its_place() {
        let errors = fill("a ${ONE} ${file:/two}").expect_err("neither exists");
        assert_eq!(errors.iter().map(|error| error.span.clone()).collect::<Vec<_>>(), [2..8, 9..21]);
        assert!(errors[0].message.contains("`ONE`") && errors[1].message.contains("/two"));
    }

    #[test]
    fn malformed_references_are_refused() {
        for (text, what) in [
            ("a${B", "never closed"),
            ("${}", "without a name"),
            ("${A-b}", "not a variable name"),
            ("${1A}", "not a variable name"),
            ("${file:pw}", "not an absolute path"),
        ] {
            assert!(Template::parse(text).expect_err(text).message.contains(what), "{text}");
        }
    }
}
