//! The output of one run, as it lies on the disk or as people read it. It can be read while the run goes on, and never
//! takes more memory than a piece of it.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::tone::Tone;

/// Read in one go.
const BLOCK: usize = 64 * 1024;

/// The stamp of a line, `2026-11-20T12:00:00.123Z`.
const STAMP: usize = 24;

/// The part of the stamp that differs within a day.
const TIME_OF_DAY: std::ops::Range<usize> = 11..23;

/// A log that is being read.
#[derive(Debug)]
pub(crate) struct LogText {
    path: PathBuf,
    /// Opened once it is there: a run that is silent so far has none.
    file: Option<File>,
    /// For people: times of day, and stderr in a colour. Otherwise as stored.
    colour: bool,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl LogText {
    /// The log at this path.
    pub(crate) fn new(path: PathBuf, colour: bool) -> Self {
        Self { path, file: None, colour, partial: Vec::new() }
    }

    /// Passes over all but the last lines.
    pub(crate) fn skip_to_last(&mut self, lines: usize) -> io::Result<()> {
        let Some(file) = self.open()? else { return Ok(()) };
        let start = start_of_last(file, lines)?;
        file.seek(SeekFrom::Start(start)).map(drop)
    }

    /// The next piece; `None` when there is no more by now.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open()? else { return Ok(None) };
        let mut piece = vec![0; BLOCK];
        let read = file.read(&mut piece)?;
        piece.truncate(read);
        if read == 0 || !self.colour {
            return Ok((read > 0).then_some(piece));
        }
        self.partial.extend_from_slice(&piece);
        let whole = self.partial.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let lines: Vec<u8> = self.partial.drain(..whole).collect();
        Ok(Some(lines.split_inclusive(|&byte| byte == b'\n').flat_map(painted).collect()))
    }

    /// A last line without its end, left by a crash or a full disk.
    pub(crate) fn rest(self) -> Vec<u8> {
        if self.partial.is_empty() { Vec::new() } else { painted(&[&self.partial[..], b"\n"].concat()) }
    }

    fn open(&mut self) -> io::Result<Option<&mut File>> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
        Ok(self.file.as_mut())
    }
}

/// Where the last lines begin, read from the end so that the cost does not depend on the length of the log.
fn start_of_last(file: &mut File, lines: usize) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut end, mut left) = (length, lines);
    if lines == 0 {
        return Ok(length);
    }
    let mut block = vec![0; BLOCK];
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let bytes = &mut block[..usize::try_from(end - start).expect("at most a block")];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(bytes)?;
        // The newline at the very end closes the last line, and begins none.
        let newlines = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
        for after in newlines.map(|(at, _)| start + at as u64 + 1).filter(|&after| after < length) {
            left -= 1;
            if left == 0 {
                return Ok(after);
            }
        }
        end = start;
    }
    Ok(0)
}

/// A stored line as people read it; as it is, if it is none of ours.
fn painted(line: &[u8]) -> Vec<u8> {
    let (text, newline) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |text| (text, b"\n"));
    let parts = text.split_at_checked(STAMP).and_then(|(stamp, rest)| {
        let (word, text) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
        let text = text.strip_prefix(b"+").unwrap_or(text).strip_prefix(b" ")?;
        Some((std::str::from_utf8(stamp).ok()?.get(TIME_OF_DAY)?, word, text))
    });
    let Some((time, word, text)) = parts else { return line.to_vec() };
    let time = Tone::Quiet.paint(time);
    let (before, after) = if word == b"err" { Tone::Bad.around() } else { Tone::Plain.around() };
    [time.as_bytes(), b" ", before.as_bytes(), text, after.as_bytes(), newline].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"2026-11-20T12:00:00.001Z out one\n2026-11-20T12:00:00.002Z err two \xff\n\
        2026-11-20T12:00:00.003Z out+ long\n2026-11-20T12:00:00.003Z out er\n";

    fn log(text: &[u8], colour: bool) -> (tempfile::TempDir, LogText) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.log");
        std::fs::write(&path, text).expect("written");
        (folder, LogText::new(path, colour))
    }

    fn all(log: &mut LogText) -> Vec<u8> {
        std::iter::from_fn(|| log.next_piece().expect("readable")).flatten().collect()
    }

    #[test]
    fn in_a_pipe_the_log_is_as_it_was_stored() {
        let (_folder, mut text) = log(LOG, false);
        assert_eq!(all(&mut text), LOG);
    }

    #[test]
    fn on_a_terminal_lines_have_a_time_of_day_and_stderr_a_colour() {
        let (_folder, mut text) = log(&[LOG, b"2026-11-20T12:00:01.000Z out torn"].concat(), true);
        let (shown, rest) = (all(&mut text), text.rest());
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("12:00:00.001\u{1b}[0m one\n"), "{shown:?}");
        assert!(shown.contains("\u{1b}[31mtwo \u{fffd}\u{1b}[0m\n"), "{shown:?}");
        assert!(shown.contains("\u{1b}[0m long\n"), "{shown:?}");
        assert!(String::from_utf8_lossy(&rest).ends_with(" torn\n"));
    }

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let long = b"2026-11-20T12:00:00.001Z out first\n".repeat(3 * BLOCK / 34);
        let text = [&long[..], LOG].concat();
        for (lines, expected) in [(0, &LOG[LOG.len()..]), (1, &LOG[LOG.len() - 32..]), (4, LOG)] {
            let (_folder, mut log) = log(&text, false);
            log.skip_to_last(lines).expect("readable");
            assert_eq!(all(&mut log), expected, "{lines}");
        }
        let (_folder, mut log) = log(&text, false);
        log.skip_to_last(usize::MAX).expect("readable");
        assert_eq!(all(&mut log), text);
    }

    #[test]
    fn what_is_written_later_is_read_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.log");
        let mut log = LogText::new(path.clone(), false);
        log.skip_to_last(5).expect("not there yet");
        assert_eq!(all(&mut log), b"");
        std::fs::write(&path, "one\n").expect("written");
        assert_eq!(all(&mut log), b"one\n");
        std::fs::write(&path, "one\ntwo\n").expect("written");
        assert_eq!(all(&mut log), b"two\n");
    }
}
