//! A line of a run's output as text and colours: for a page, which must not pass on what a terminal would
//! obey.
//!
//! Colours stay, mapped to the sixteen of a terminal, and end with their line. Every other control character
//! and escape sequence is shown as U+FFFD, but for the tab. Of a line that was written over itself, as
//! progress bars do it with `\r`, the last state is shown.

use crate::time::UtcMillis;

use super::reordering::reorders;
use super::sgr::{SgrState, SgrStyle};
use super::stored_line::StoredLine;

/// More bytes of one line are not shown. The log has no longer lines: it stores them as several pieces of
/// this size.
const LONGEST: usize = 16 * 1024;

/// A longer escape sequence is taken for text: so the cost of a line stays linear.
const LONGEST_SEQUENCE: usize = 1024;

/// Stands for what is not shown.
const REPLACED: char = '\u{fffd}';

/// Stands for the rest of a line that is too long.
const CUT: char = '…';

/// A line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// When it was complete, by its replica's clock; `None` if it has no time, as the line that stands for
    /// missing bytes.
    pub at: Option<UtcMillis>,
    /// Whether the job wrote it to stderr.
    pub is_err: bool,
    /// Whether it is a piece of a long line, which continues in the next piece of the same stream.
    pub continues: bool,
    /// Its text, in parts of one style each. No part is empty.
    pub spans: Vec<OutputSpan>,
}

/// A part of a line in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpan {
    /// How it looks.
    pub style: SgrStyle,
    /// The text: no control character but the tab, and none that changes the order of others.
    pub text: String,
}

impl OutputLine {
    /// Parses a line of a run's log, with or without its newline.
    pub fn stored(line: &[u8]) -> Self {
        let Some(StoredLine { stamp, is_err, continues, text }) = StoredLine::parse(line) else {
            return Self::unstamped(line);
        };
        let at = stamp.parse().ok().map(UtcMillis::from_timestamp);
        Self { at, is_err, continues, spans: spans(text) }
    }

    /// Parses a line without a time, such as one of an output's kept end, with or without its newline.
    pub fn unstamped(line: &[u8]) -> Self {
        Self { at: None, is_err: false, continues: false, spans: spans(line) }
    }
}

/// Returns the text of a line in parts of one style each.
fn spans(line: &[u8]) -> Vec<OutputSpan> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let (line, is_cut) = line.get(..LONGEST).map_or((line, false), |first| (first, first.len() < line.len()));
    let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
    let mut spans = SpanWriter::default();
    for chunk in line.get(..end).unwrap_or(line).utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(next) = rest.chars().next() {
            rest = spans.take(next, rest);
        }
        if !chunk.invalid().is_empty() {
            spans.push(REPLACED);
        }
    }
    if is_cut {
        spans.push(CUT);
    }
    spans.written
}

/// Writes text in the style that the sequences before it have set.
#[derive(Debug, Default)]
struct SpanWriter {
    state: SgrState,
    written: Vec<OutputSpan>,
}

impl SpanWriter {
    /// Takes the character `next`, or the sequence that begins with it, from the front of `rest`. Returns
    /// what follows.
    fn take<'a>(&mut self, next: char, rest: &'a str) -> &'a str {
        let mut length = next.len_utf8();
        match next {
            '\t' => self.push(next),
            '\r' => self.written.clear(),
            _ if next.is_control() => {
                let sequence = EscapeSequence::at(next, rest);
                length = sequence.length;
                match sequence.colours {
                    Some(parameters) => self.state.apply(parameters),
                    None => self.push(REPLACED),
                }
            }
            // They end a line where only the newline should.
            '\u{2028}' | '\u{2029}' => self.push(REPLACED),
            _ if reorders(next) => next.escape_unicode().for_each(|letter| self.push(letter)),
            _ => self.push(next),
        }
        rest.get(length..).unwrap_or_default()
    }

    fn push(&mut self, letter: char) {
        let style = self.state.style();
        match self.written.last_mut() {
            Some(last) if last.style == style => last.text.push(letter),
            _ => self.written.push(OutputSpan { style, text: letter.to_string() }),
        }
    }
}

/// A control character, or the escape sequence that it begins.
struct EscapeSequence<'a> {
    /// The bytes of the whole sequence.
    length: usize,
    /// The parameters, if it sets colours and styles.
    colours: Option<&'a str>,
}

impl<'a> EscapeSequence<'a> {
    /// Returns the sequence at the front of `rest`, which begins with the control character `first`. A
    /// sequence without its end is that character alone.
    fn at(first: char, rest: &'a str) -> Self {
        let alone = Self { length: first.len_utf8(), colours: None };
        let Some(body) = rest.get(alone.length..) else { return alone };
        // Each has a form of one character, and one of ESC and a letter.
        let (introducer, opened) = match first {
            '\u{1b}' => match body.chars().next() {
                Some(letter @ '\u{40}'..='\u{5f}') => (letter, 2),
                _ => ('\u{1b}', 1),
            },
            '\u{80}'..='\u{9f}' => (char::from((u32::from(first) - 0x40) as u8), alone.length),
            _ => return alone,
        };
        let Some(body) = rest.get(opened..) else { return alone };
        let found = match introducer {
            '[' => control_sequence(body),
            ']' | 'P' | 'X' | '^' | '_' => string_end(body).map(|length| Self { length, colours: None }),
            '\u{1b}' => plain_escape(body),
            _ => Some(Self { length: 0, colours: None }),
        };
        found.map_or(alone, |found| Self { length: opened + found.length, ..found })
    }
}

/// Returns the rest of a control sequence: parameters, then intermediate characters, then one final
/// character.
fn control_sequence(body: &str) -> Option<EscapeSequence<'_>> {
    let end = body.bytes().take(LONGEST_SEQUENCE).position(|byte| !matches!(byte, b' '..=b'?'))?;
    let (parameters, rest) = (body.get(..end)?, body.get(end..)?);
    let last = rest.bytes().next().filter(|last| matches!(last, b'@'..=b'~'))?;
    let are_codes = parameters.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
    Some(EscapeSequence { length: end + 1, colours: (last == b'm' && are_codes).then_some(parameters) })
}

/// Returns the length of a string sequence's text with its end: a bell, or the string terminator.
fn string_end(body: &str) -> Option<usize> {
    let mut letters = body.char_indices().take_while(|(at, _)| *at < LONGEST_SEQUENCE);
    letters.find_map(|(at, letter)| match letter {
        '\u{7}' => Some(at + 1),
        '\u{9c}' => Some(at + letter.len_utf8()),
        '\u{1b}' if body.get(at + 1..)?.starts_with('\\') => Some(at + 2),
        _ => None,
    })
}

/// Returns the rest of an escape such as `ESC ( B`, which chooses a set of characters.
fn plain_escape(body: &str) -> Option<EscapeSequence<'_>> {
    let end = body.bytes().take(LONGEST_SEQUENCE).position(|byte| !matches!(byte, b' '..=b'/'))?;
    let is_final = body.get(end..)?.bytes().next().is_some_and(|last| matches!(last, b'0'..=b'~'));
    is_final.then_some(EscapeSequence { length: end + 1, colours: None })
}

#[cfg(test)]
#[path = "output_line_tests.rs"]
mod tests;
