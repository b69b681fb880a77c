//! The output of a run as it is printed: as stored or, for people, with times of day, and stderr in a colour.

use crate::cli::print::style::TextStyle;
use crate::view::text::StoredLine;

/// The part of a line's time, `2026-11-20T12:00:00.123Z`, that differs within a day.
const TIME_OF_DAY: std::ops::Range<usize> = 11..23;

/// Output of which one piece after the other is printed.
#[derive(Debug)]
pub(crate) struct OutputLines {
    /// Whether they are for people. Otherwise they stay as stored.
    colour: bool,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl OutputLines {
    /// Returns the printed form of an output of which nothing is there yet.
    pub(crate) fn new(colour: bool) -> Self {
        Self { colour, partial: Vec::new() }
    }

    /// Returns what to print of the next piece.
    pub(crate) fn shown(&mut self, piece: Vec<u8>) -> Vec<u8> {
        if !self.colour {
            return piece;
        }
        self.partial.extend_from_slice(&piece);
        let whole = self.partial.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let lines: Vec<u8> = self.partial.drain(..whole).collect();
        lines.split_inclusive(|&byte| byte == b'\n').flat_map(painted).collect()
    }

    /// Returns a last line without its newline, as a crash or a full disk leaves it.
    pub(crate) fn rest(self) -> Vec<u8> {
        if self.partial.is_empty() { Vec::new() } else { painted(&[&self.partial[..], b"\n"].concat()) }
    }
}

/// Returns a stored line in the form for people; unchanged if it is not in the format of the log.
fn painted(line: &[u8]) -> Vec<u8> {
    let newline = if line.ends_with(b"\n") { &b"\n"[..] } else { b"" };
    let Some(StoredLine { stamp, is_err, text, .. }) = StoredLine::parse(line) else { return line.to_vec() };
    let time = TextStyle::Quiet.paint(stamp.get(TIME_OF_DAY).unwrap_or(stamp));
    let (before, after) = if is_err { TextStyle::Bad.around() } else { TextStyle::Plain.around() };
    [time.as_bytes(), b" ", before.as_bytes(), text, after.as_bytes(), newline].concat()
}
