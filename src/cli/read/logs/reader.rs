//! Reads the output of one run, as stored or in a form for people. It can be read during the run, and never takes more memory
//! than one piece.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::run::{LogPart, parts, start_of_last};
use crate::view::text::output_text::gap_line;

use super::lines::OutputLines;

/// Bytes that are read at once.
const BLOCK: usize = 64 * 1024;

/// A log that is being read.
#[derive(Debug)]
pub(crate) struct LogText {
    path: PathBuf,
    /// The part that is being read. `None` until it exists: a run that has printed nothing has none.
    part: Option<OpenPart>,
    lines: OutputLines,
}

/// A part of the log that is being read.
#[derive(Debug)]
struct OpenPart {
    /// The number of bytes before the part.
    start: u64,
    /// The number of bytes before those that are read next.
    at: u64,
    file: File,
}

impl OpenPart {
    /// Opens the part. `None` if it has been removed.
    fn open(part: &LogPart) -> io::Result<Option<Self>> {
        match File::open(&part.path) {
            Ok(file) => Ok(Some(Self { start: part.start, at: part.start, file })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the next bytes of the part; empty if no more are written yet.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; BLOCK];
        let read = self.file.read(&mut piece)?;
        piece.truncate(read);
        self.at += read as u64;
        Ok(piece)
    }
}

impl LogText {
    /// Returns the log at this path; for people with `colour`.
    pub(crate) fn new(path: PathBuf, colour: bool) -> Self {
        Self { path, part: None, lines: OutputLines::new(colour) }
    }

    /// Skips all but the last lines.
    pub(crate) fn skip_to_last(&mut self, lines: usize) -> io::Result<()> {
        let mut left = lines;
        for part in parts(&self.path)?.iter().rev() {
            let Some(mut reading) = OpenPart::open(part)? else { return Ok(()) };
            let (start, found) = start_of_last(&mut reading.file, left, u64::MAX)?;
            reading.at = part.start + reading.file.seek(SeekFrom::Start(start))?;
            self.part = Some(reading);
            left -= found;
            if left == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the next piece; `None` if no more is written yet.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let piece = self.next_bytes()?;
        Ok(if piece.is_empty() { None } else { Some(self.lines.shown(piece)) })
    }

    /// Returns a last line without its newline, as a crash or a full disk leaves it.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.lines.rest()
    }

    /// Returns the next bytes of the log, or a line with the number of bytes that are missing before them; empty if no more are
    /// written yet.
    fn next_bytes(&mut self) -> io::Result<Vec<u8>> {
        if let Some(part) = &mut self.part {
            let bytes = part.read()?;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
        }
        let read_to = self.part.as_ref().map_or(0, |part| part.start + 1);
        let later =
            parts(&self.path)?.into_iter().filter(|part| self.part.is_none() || part.start >= read_to);
        for next in later {
            let Some(mut next) = OpenPart::open(&next)? else { continue };
            // Once a later part exists, nothing more is written to this one.
            let rest = self.part.as_mut().map_or(Ok(Vec::new()), OpenPart::read)?;
            if !rest.is_empty() {
                return Ok(rest);
            }
            let at = self.part.as_ref().map_or(0, |part| part.at);
            let missing = next.start.saturating_sub(at);
            let bytes = if missing > 0 { gap_line(missing).into_bytes() } else { next.read()? };
            self.part = Some(next);
            return Ok(bytes);
        }
        Ok(Vec::new())
    }
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

    /// Returns a log whose head has `0`s, and whose newest parts have `2`s and `3`s; the bytes between are missing.
    fn parted() -> (tempfile::TempDir, LogText) {
        let (folder, log) = log(b"0\n0\n", false);
        std::fs::write(folder.path().join("x.log.100"), "2\n2\n").expect("written");
        std::fs::write(folder.path().join("x.log.104"), "3\n3\n").expect("written");
        (folder, log)
    }

    const MISSING: &str = "solocron: 96 bytes of the log are missing here, as `max_output` says\n";

    #[test]
    fn of_a_log_in_parts_it_is_told_how_much_is_missing() {
        let (_folder, mut log) = parted();
        assert_eq!(String::from_utf8_lossy(&all(&mut log)), format!("0\n0\n{MISSING}2\n2\n3\n3\n"));
    }

    #[test]
    fn the_last_lines_are_found_in_several_parts() {
        for (lines, expected) in [
            (0, String::new()),
            (1, "3\n".into()),
            (3, "2\n3\n3\n".into()),
            (4, "2\n2\n3\n3\n".into()),
            (5, format!("0\n{MISSING}2\n2\n3\n3\n")),
            (99, format!("0\n0\n{MISSING}2\n2\n3\n3\n")),
        ] {
            let (_folder, mut log) = parted();
            log.skip_to_last(lines).expect("readable");
            assert_eq!(String::from_utf8_lossy(&all(&mut log)), expected, "{lines}");
        }
    }

    #[test]
    fn a_follower_continues_in_the_next_part_and_reports_removed_bytes() {
        let (folder, mut log) = log(b"0\n", false);
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        assert_eq!(all(&mut log), b"0\n");
        write("x.log", "0\n0\n");
        write("x.log.4", "1\n");
        assert_eq!(all(&mut log), b"0\n1\n", "nothing is missing");
        std::fs::remove_file(folder.path().join("x.log.4")).expect("removed");
        write("x.log.10", "5\n");
        let told = "solocron: 4 bytes of the log are missing here, as `max_output` says\n5\n";
        assert_eq!(String::from_utf8_lossy(&all(&mut log)), told);
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
