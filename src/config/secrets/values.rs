//! Finds the values in the text of a jobs.toml that may be secrets: those of `env`, those of keys that are named like a secret or that
//! nobody knows, and what is given as a store. The text may be broken, or a line of it within a message.

use std::ops::Range;

use crate::config::report::suggest;
use crate::config::sections::keys;
use crate::config::sections::keys::KEYS;

use super::mask::moved;

/// Parts of the names of keys whose values are secrets.
const SECRET_NAMES: [&str; 6] = ["pass", "pwd", "secret", "token", "key", "credential"];

/// What may be secret of a value.
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

/// The values that may hold secrets, in their order.
pub(super) fn find(text: &str) -> Vec<SecretValue> {
    Scanner::of(text, false).scan()
}

/// Reads as much of the syntax as is needed to tell keys from values.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// The end of this line, or of an earlier one.
    line_end: usize,
    /// Of a comment, which has no comment in it.
    is_comment: bool,
    /// The parts of the key that was read last, and whether the next word goes on with it.
    keys: Vec<&'t str>,
    has_dot: bool,
    /// Of the values of the table that the last header names.
    table: Secrecy,
    /// Of the values in the lists and tables that are open: the opening bracket of each.
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
                        _ => self.key(&[&text[content]], (false, false)),
                    }
                }
                _ => {
                    let word = self.word();
                    let is_key = word.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
                    let parts: Vec<&str> =
                        word.split('.').filter(|part| is_key && !part.is_empty()).collect();
                    self.key(&parts, (word.starts_with('.'), word.ends_with('.')));
                }
            }
            is_line_start = false;
        }
        self.found
    }

    /// Parts of a key, with a dot before or after them: without one, they are another key than what was read before.
    fn key(&mut self, parts: &[&'t str], (dot_before, dot_after): (bool, bool)) {
        if !dot_before && !std::mem::replace(&mut self.has_dot, false) {
            self.keys.clear();
        }
        self.keys.extend(parts);
        self.has_dot = dot_after;
    }

    /// What was commented out is as secret.
    fn comment(&mut self) {
        let line = self.at + 1..self.line_end();
        self.at = line.end;
        let found = Scanner::of(&self.text[line.clone()], true).scan();
        self.found.extend(found.into_iter().map(|(secrecy, value)| (secrecy, moved(value, line.start))));
    }

    /// A table's name. Whatever was left open before it is over.
    fn header(&mut self) {
        self.open.clear();
        let end = self.line_end();
        let name = self.text[self.at..end].split('#').next().unwrap_or_default();
        let last = name.trim().trim_matches(['[', ']']).rsplit('.').next().unwrap_or_default();
        self.table =
            if last.trim().trim_matches(['"', '\'']) == "env" { Secrecy::Hidden } else { Secrecy::Shown };
        self.at = end;
    }

    /// What follows the key that was read last.
    fn value(&mut self) {
        self.at += 1;
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start_matches([' ', '\t']).len();
        let secrecy = self.secrecy_of_key();
        self.keys.clear();
        match self.text[self.at..].chars().next() {
            // A store is no table: what is in it may be anything.
            Some('{') if secrecy == Secrecy::Store => self.enter('{', Secrecy::Hidden),
            Some(bracket @ ('[' | '{')) => self.enter(bracket, secrecy),
            Some('"' | '\'') => {
                let content = self.string();
                self.note(secrecy, content);
            }
            // Quotes were forgotten, perhaps.
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

    /// Of the value of the key that was read last.
    fn secrecy_of_key(&self) -> Secrecy {
        let name = self.keys.last().copied().unwrap_or_default();
        let is_secret = |name: &str| SECRET_NAMES.iter().any(|part| name.to_ascii_lowercase().contains(part));
        match self.secrecy_here() {
            _ if self.keys.contains(&"env") || is_secret(name) => Secrecy::Hidden,
            Secrecy::Shown if name == "store" => Secrecy::Store,
            Secrecy::Shown if !self.is_comment && !name.is_empty() => match meant(name) {
                Some("env") => Secrecy::Hidden,
                Some("store") => Secrecy::Store,
                Some(_) => Secrecy::Shown,
                // Nobody knows what it is. A table has keys of its own, of which that is asked again; what has no quotes may be prose.
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

    /// What is within the quotes; where these are not closed, the rest of the line, or of the text.
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

    /// Up to what ends a bare word. An apostrophe within one is a letter of it.
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

/// The key that was meant by this one, if there is one like it.
fn meant(name: &str) -> Option<&'static str> {
    let known: Vec<&str> = keys::tables().into_iter().chain(KEYS.iter().map(|key| key.name)).collect();
    known.iter().find(|known| **known == name).copied().or_else(|| suggest::nearest(name, &known))
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
