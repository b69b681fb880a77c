//! Reads a piece of a run's log: from a byte on, or its end. A piece has a limited size, so that logs of any length can be
//! read in pieces, by readers that keep no file open.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use serde::{Deserialize, Serialize};

use super::log_parts::{LogPart, parts};

/// Bytes that are read at once.
const BLOCK: usize = 64 * 1024;

/// The last lines of a log are looked for within this many bytes of its end.
const LAST_LINES_WITHIN: u64 = 8 << 20;

/// Where a piece begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStart {
    /// At this byte, counted from 0 over everything that the run has printed.
    Byte(u64),
    /// At the first line within this many bytes of the end.
    LastBytes(u64),
    /// At the last lines, this many. Of those that begin more than 8 MiB before the end, none is found.
    LastLines(u32),
}

/// A piece of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRange {
    /// The number of bytes before the piece.
    pub from: u64,
    /// How many bytes were not kept between the requested byte and the piece.
    pub missing: u64,
    /// The piece: whole lines, but for a line that is longer than a piece. Empty if nothing more is written yet.
    pub bytes: Vec<u8>,
    /// The number of bytes that the run has printed so far.
    pub size: u64,
    /// Whether the log exists.
    pub exists: bool,
}

impl LogRange {
    /// Returns the number of bytes before the next piece.
    pub fn next(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// A part of the log, and its length.
struct SizedPart {
    part: LogPart,
    length: u64,
}

impl SizedPart {
    fn end(&self) -> u64 {
        self.part.start + self.length
    }
}

/// Reads at most `max` bytes of the log at this path.
///
/// # Errors
/// If a file of it cannot be read. That none exists is no error.
pub(crate) fn read_range(log: &Path, start: LogStart, max: usize) -> io::Result<LogRange> {
    let parts = sized_parts(log)?;
    let (size, exists) = (parts.last().map_or(0, SizedPart::end), !parts.is_empty());
    let at = match start {
        LogStart::Byte(at) => at,
        LogStart::LastBytes(bytes) => size.saturating_sub(bytes),
        LogStart::LastLines(lines) => start_of_last_lines(&parts, size, lines)?,
    };
    let none = LogRange { from: at, missing: 0, bytes: Vec::new(), size, exists };
    let Some(found) = parts.iter().find(|part| part.end() > at) else { return Ok(none) };
    let from = at.max(found.part.start);
    let mut file = match open(&found.part.path) {
        Ok(file) => file,
        // It was removed just now: the next call finds what is kept.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(none),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(from - found.part.start))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    if bytes.len() == max {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(max, |newline| newline + 1);
        bytes.truncate(whole);
    }
    let is_end = !matches!(start, LogStart::Byte(_));
    let torn = match start {
        LogStart::LastBytes(_) if from > found.part.start => {
            bytes.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
        }
        _ => 0,
    };
    bytes.drain(..torn);
    let missing = if is_end { 0 } else { from - at };
    Ok(LogRange { from: from + torn as u64, missing, bytes, ..none })
}

/// Returns the existing parts with their lengths, oldest first.
fn sized_parts(log: &Path) -> io::Result<Vec<SizedPart>> {
    let mut sized = Vec::new();
    for part in parts(log)? {
        match part.path.symlink_metadata() {
            Ok(metadata) => sized.push(SizedPart { length: metadata.len(), part }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sized)
}

/// Opens a part, and follows no link.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Returns the byte at which the last lines begin.
fn start_of_last_lines(parts: &[SizedPart], size: u64, lines: u32) -> io::Result<u64> {
    let (mut at, mut left, mut within) = (size, lines as usize, LAST_LINES_WITHIN);
    for sized in parts.iter().rev() {
        let mut file = match open(&sized.part.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(at),
            Err(error) => return Err(error),
        };
        let (start, found) = start_of_last(&mut file, left, within)?;
        at = sized.part.start + start;
        left = left.saturating_sub(found);
        within = within.saturating_sub(sized.length);
        if left == 0 || within == 0 {
            break;
        }
    }
    Ok(at)
}

/// Returns where the last `lines` lines of a file begin, and how many lines there are from there. Reads from the end, and at
/// most the last `within` bytes, so that the cost does not depend on the length of the file.
pub(crate) fn start_of_last(file: &mut File, lines: usize, within: u64) -> io::Result<(u64, usize)> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut end, mut left) = (length, lines);
    if lines == 0 || length == 0 {
        return Ok((length, 0));
    }
    let first = length.saturating_sub(within);
    let mut block = vec![0; BLOCK];
    while end > first {
        let start = end.saturating_sub(BLOCK as u64).max(first);
        let bytes = &mut block[..usize::try_from(end - start).expect("at most a block")];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(bytes)?;
        // The newline at the very end closes the last line, and does not begin another.
        let newlines = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
        for after in newlines.map(|(at, _)| start + at as u64 + 1).filter(|&after| after < length) {
            left -= 1;
            if left == 0 {
                return Ok((after, lines));
            }
        }
        end = start;
    }
    // The first line does not follow a newline.
    Ok((first, lines - left + 1))
}

#[cfg(test)]
#[path = "log_range_tests.rs"]
mod tests;
