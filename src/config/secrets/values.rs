//! Finds the values in the text of a jobs.toml that may be secrets: those of `env`, of keys that are named like a
//! secret or unknown, and of `store`. The text may be broken, or a line of it within a message.

use std::ops::Range;

use crate::config::report::suggest;
use crate::config::sections::keys;
use crate::config::sections::keys::KEYS;

use super::mask::moved;

/// Parts of the names of keys whose values are secrets.
const SECRET_NAMES: [&str; 6] = ["pass", "pwd", "secret", "token", "key", "credential"];

/// How much of a value may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Nothing.
    Shown,
    /// All of it.
    Hidden,
    /// Its password: it is the URL of a store.
    Store,
}

/// A value that may hold a secret.
pub(super) type SecretValue = (Secrecy, Range<usize>);

/// Returns the values that may hold secrets, in their order.
pub(super) fn find(text: &str) -> Vec<SecretValue> {
    Scanner::of(text, false).scan()
}

/// Parses as much of the syntax as is needed to distinguish keys from values.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// The end of the current line, or of an earlier one.
    line_end: usize,
    /// Whether the text is a comment, in which `#` begins no other.
    is_comment: bool,
    /// The parts of the key that was read last; `has_dot`: whether the next word continues it.
    keys: Vec<&'t str>,
    has_dot: bool,
    /// The secrecy of the values in the table that the last header names.
    table: Secrecy,
    /// The lists and tables that are open: the opening bracket of each, and the secrecy of the values in it.
    open: Vec<(char, Secrecy)>,
    found: Vec<SecretValue>,
}

impl<'t> Scanner<'t> {
    fn of(text: &'t str, is_comment: bool) -> Self {
        let (keys, open, found) = (Vec::new(), Vec::new(), Vec::new());
        let table = Secrecy::Shown;
        Self { text, at: 0, line_end: 0, is_comment, keys, has_dot: false, table, open, found }
    }

    fn scan(mut self) -> Vec<SecretValue> {
        let mut is_line_start = true;
        while let Some(letter) = self.text[self.at..].chars().next() {
            match letter {
                '\n' => {
                    self.keys.clear();
                    is_line_start = true;
                    self.at += 1;
                    continue;
                }
                ' ' | '\t' | '\r' => {
                    self.at += 1;
                    continue;
                }
                '#' if self.is_comment => self.at += 1,
                '#' => self.comment(),
                '[' if is_line_start && self.open.iter().all(|(bracket, _)| *bracket == '{') => self.header(),
                '=' => self.value(),
                '[' | '{' => {
                    let secrecy = self.secrecy_here();
                    self.enter(letter, secrecy);
                }
                ']' | '}' => {
                    self.open.pop();
                    self.keys.clear();
                    self.at += 1;
                }
                ',' => {
                    self.keys.clear();
                    self.at += 1;
                }
                '"' | '\'' => {
                    let (text, content) = (self.text, self.string());
                    // In a list it is a value.
                    match self.open.last().copied() {
                        Some(('[', secrecy)) => self.note(secrecy, content),
                        _ => self.key(&[&text[content]], false, false),
                    }
                }
                _ => {
                    let word = self.word();
                    let is_key = word.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
                    let parts: Vec<&str> =
                        word.split('.').filter(|part| is_key && !part.is_empty()).collect();
                    self.key(&parts, word.starts_with('.'), word.ends_with('.'));
                }
            }
            is_line_start = false;
        }
        self.found
    }

    /// Adds parts to the key, with a dot before or after them. Without a dot between them and the key that was read
    /// before, they begin another key.
    fn key(&mut self, parts: &[&'t str], dot_before: bool, dot_after: bool) {
        if !dot_before && !std::mem::replace(&mut self.has_dot, false) {
            self.keys.clear();
        }
        self.keys.extend(parts);
        self.has_dot = dot_after;
    }

    /// Scans a comment: a value that was commented out is as secret.
    fn comment(&mut self) {
        let line = self.at + 1..self.line_end();
        self.at = line.end;
        let found = Scanner::of(&self.text[line.clone()], true).scan();
        self.found.extend(found.into_iter().map(|(secrecy, value)| (secrecy, moved(value, line.start))));
    }

    /// Reads a table's name. A list or table that was left open before it ends here.
    fn header(&mut self) {
        self.open.clear();
        let end = self.line_end();
        let name = self.text[self.at..end].split('#').next().unwrap_or_default();
        let last = name.trim().trim_matches(['[', ']']).rsplit('.').next().unwrap_or_default();
        self.table =
            if last.trim().trim_matches(['"', '\'']) == "env" { Secrecy::Hidden } else { Secrecy::Shown };
        self.at = end;
    }

    /// Reads the value of the key that was read last.
    fn value(&mut self) {
        self.at += 1;
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start_matches([' ', '\t']).len();
        let secrecy = self.secrecy_of_key();
        self.keys.clear();
        match self.text[self.at..].chars().next() {
            // A store cannot be a table: what is in it may be anything.
            Some('{') if secrecy == Secrecy::Store => self.enter('{', Secrecy::Hidden),
            Some(bracket @ ('[' | '{')) => self.enter(bracket, secrecy),
            Some('"' | '\'') => {
                let content = self.string();
                self.note(secrecy, content);
            }
            // The quotes may have been forgotten.
            Some(letter) if secrecy != Secrecy::Shown && letter != '\n' => {
                let line = self.at..self.line_end();
                let word = self.word();
                let is_plain = word.parse::<f64>().is_ok() || word == "true" || word == "false";
                if !is_plain {
                    self.at = line.end;
                    for _ in self.text[line.clone()].matches(['}', ']']) {
                        self.open.pop();
                    }
                    self.note(secrecy, line);
                }
            }
            _ => {}
        }
    }

    /// Returns the secrecy of the value of the key that was read last.
    fn secrecy_of_key(&self) -> Secrecy {
        let name = self.keys.last().copied().unwrap_or_default();
        let is_secret = |name: &str| SECRET_NAMES.iter().any(|part| name.to_ascii_lowercase().contains(part));
        match self.secrecy_here() {
            _ if self.keys.contains(&"env") || is_secret(name) => Secrecy::Hidden,
            Secrecy::Shown if is_address(name) => Secrecy::Store,
            Secrecy::Shown if !self.is_comment && !name.is_empty() => match meant(name) {
                Some("env") => Secrecy::Hidden,
                Some(name) if is_address(name) => Secrecy::Store,
                Some(_) => Secrecy::Shown,
                // The key is unknown. A table has keys of its own, which are checked in turn; text without quotes may
                // be prose.
                None if self.text[self.at..].starts_with(['"', '\'', '[']) => Secrecy::Hidden,
                None => Secrecy::Shown,
            },
            around => around,
        }
    }

    fn secrecy_here(&self) -> Secrecy {
        self.open.last().map_or(self.table, |(_, secrecy)| *secrecy)
    }

    fn enter(&mut self, bracket: char, secrecy: Secrecy) {
        self.open.push((bracket, secrecy));
        self.keys.clear();
        self.at += 1;
    }

    fn note(&mut self, secrecy: Secrecy, value: Range<usize>) {
        if secrecy != Secrecy::Shown {
            self.found.push((secrecy, value));
        }
    }

    /// Returns what is within the quotes; if these are not closed, the rest of the line, or of the text.
    fn string(&mut self) -> Range<usize> {
        let rest = &self.text[self.at..];
        let long = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes));
        let quotes = long.unwrap_or(&rest[..1]);
        let start = self.at + quotes.len();
        let limit = if long.is_some() { self.text.len() } else { self.line_end() };
        let is_escaped = |at: usize| {
            let before = &self.text[start..at];
            quotes.starts_with('"') && (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
        };
        let closings = self.text[start..limit].match_indices(quotes).map(|(at, _)| start + at);
        let end = closings.into_iter().find(|at| !is_escaped(*at));
        self.at = end.map_or(limit, |end| end + quotes.len());
        start..end.unwrap_or(limit)
    }

    /// Returns the text up to what ends a bare word. An apostrophe within a word is a part of it.
    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || "=[]{},#\"".contains(c)).unwrap_or(rest.len());
        let end = end.max(rest.chars().next().map_or(0, char::len_utf8));
        self.at += end;
        rest[..end].trim_matches('`')
    }

    fn line_end(&mut self) -> usize {
        if self.line_end < self.at || self.line_end == 0 {
            self.line_end =
                self.text[self.at..].find('\n').map_or(self.text.len(), |newline| self.at + newline);
        }
        self.line_end
    }
}

/// Whether the value of this key is an address, which may hold a password. A store may be written under `url` by mistake.
fn is_address(key: &str) -> bool {
    key == "store" || key == "url"
}

/// Returns the known key that was probably meant by this one; `None` if none is like it.
fn meant(name: &str) -> Option<&'static str> {
    let known: Vec<&str> = keys::tables().into_iter().chain(KEYS.iter().map(|key| key.name)).collect();
    known.iter().find(|known| **known == name).copied().or_else(|| suggest::nearest(name, &known))
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
