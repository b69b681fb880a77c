//! The log of a run in parts, so that it never takes more than its limit. `RUN.log` holds the head of what was
//! printed, up to half of the limit; `RUN.log.OFFSET` hold the newest of what follows, and are named by the number of
//! bytes before them. Of these the last two are kept, each of up to a quarter of the limit; readers can compute how
//! much is missing between two parts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::run::history::paths::remove_file;

use super::disk_reserve::DiskReserve;
use super::log_file::LogFile;

/// How many parts after the head are kept.
const KEPT: usize = 2;

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPart {
    /// How many bytes were written before it.
    pub(crate) start: u64,
    /// Its file.
    pub(crate) path: PathBuf,
}

/// Returns the existing parts of the log at this path, oldest first.
pub(crate) fn parts(log: &Path) -> io::Result<Vec<LogPart>> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let part = |path: PathBuf| {
        let rest = path.file_name()?.to_str()?.strip_prefix(name)?;
        let start = if rest.is_empty() { 0 } else { rest.strip_prefix('.')?.parse().ok()? };
        Some(LogPart { start, path })
    };
    let mut parts: Vec<LogPart> = entries.flatten().filter_map(|entry| part(entry.path())).collect();
    parts.sort();
    Ok(parts)
}

/// Removes all parts of a log.
pub(crate) fn remove(log: &Path) -> io::Result<()> {
    parts(log)?.iter().try_for_each(|part| remove_file(&part.path))
}

/// The log of a run, opened for appending.
#[derive(Debug)]
pub(crate) struct PartedLog {
    log: PathBuf,
    limit: u64,
    /// The bytes before the part that is being written, and in it.
    start: u64,
    length: u64,
    file: LogFile,
}

impl PartedLog {
    /// Opens or creates the log at this path, of at most `limit` bytes. An earlier attempt may have written to it.
    pub(crate) fn open(log: PathBuf, limit: u64) -> io::Result<Self> {
        let newest = if log.exists() { parts(&log)?.pop() } else { None };
        let LogPart { start, path } = newest.unwrap_or_else(|| LogPart { start: 0, path: log.clone() });
        let file = LogFile::open(&path)?;
        let length = fs::metadata(&path)?.len();
        Ok(Self { log, limit, start, length, file })
    }

    /// Appends whole lines, unless the disk is nearly full.
    pub(crate) fn append(&mut self, mut lines: &[u8]) -> io::Result<()> {
        self.log.parent().and_then(DiskReserve::of).map_or(Ok(()), DiskReserve::check)?;
        while !lines.is_empty() {
            let capacity = if self.start == 0 { self.limit / 2 } else { self.limit / 4 };
            let room = usize::try_from(capacity.saturating_sub(self.length)).unwrap_or(usize::MAX);
            let fitting = fitting(lines, room, self.length == 0);
            if fitting == 0 {
                self.begin_part(lines)?;
                continue;
            }
            let (now, later) = lines.split_at(fitting);
            self.write(now)?;
            lines = later;
        }
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.append(lines)?;
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Begins a new part, as the current one is full, and removes the oldest parts beyond `KEPT`.
    fn begin_part(&mut self, next: &[u8]) -> io::Result<()> {
        if self.start == 0 {
            // For readers of the file itself.
            let stamp = next.split(|byte| *byte == b' ').next().unwrap_or_default();
            let name = self.log.file_name().unwrap_or_default().display();
            let note = format!(
                " err solocron: this is half of max_output: the newest of what follows is in {name}.*\n"
            );
            self.write(&[stamp, note.as_bytes()].concat())?;
        }
        self.start += self.length;
        let mut path = self.log.clone().into_os_string();
        path.push(format!(".{}", self.start));
        let path = PathBuf::from(path);
        self.file = LogFile::open(&path)?;
        self.length = 0;
        let after_head: Vec<LogPart> = parts(&self.log)?.into_iter().filter(|part| part.start > 0).collect();
        let outdated = after_head.len().saturating_sub(KEPT);
        after_head[..outdated].iter().try_for_each(|part| remove_file(&part.path))
    }
}

/// Returns how many bytes of these lines have room: whole lines. A line that is longer than a part gets a part of its
/// own.
fn fitting(lines: &[u8], room: usize, is_empty: bool) -> usize {
    if lines.len() <= room {
        return lines.len();
    }
    let is_end = |byte: &u8| *byte == b'\n';
    match lines[..room].iter().rposition(is_end) {
        Some(end) => end + 1,
        None if is_empty => lines.iter().position(is_end).map_or(lines.len(), |end| end + 1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of 40 bytes.
    fn line(n: usize) -> Vec<u8> {
        format!("2026-11-20T12:00:00.000Z out {n:010}\n").into_bytes()
    }

    fn starts(log: &Path) -> Vec<u64> {
        parts(log).unwrap().iter().map(|part| part.start).collect()
    }

    #[test]
    fn the_head_and_the_newest_are_kept_within_the_limit_also_by_several_attempts() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("r.log");
        std::fs::write(folder.path().join("r.log-x"), "another's").unwrap();
        let mut produced = 0;
        for n in 0..500 {
            let mut parted = PartedLog::open(log.clone(), 4_000).unwrap();
            parted.append(&[line(2 * n), line(2 * n + 1)].concat()).unwrap();
            produced = parted.start + parted.length;
            let kept: u64 = parts(&log).unwrap().iter().map(|part| part.path.metadata().unwrap().len()).sum();
            assert!(kept <= 4_000 + 200, "{kept} bytes");
        }
        let all = parts(&log).unwrap();
        let [head, before, last] = &all[..] else { panic!("{all:?}") };
        let text = |part: &LogPart| std::fs::read_to_string(&part.path).unwrap();
        assert!(text(head).contains(" out 0000000000\n") && text(head).contains("is in r.log.*\n"));
        assert!(text(last).ends_with(" out 0000000999\n"));
        assert_eq!(before.start + text(before).len() as u64, last.start, "the newest is without a gap");
        assert_eq!(last.start + text(last).len() as u64, produced);
        let lines = text(before).lines().count() + text(last).lines().count();
        assert!(lines >= 1_000 / 40, "{lines} lines at least are the newest quarter");
        remove(&log).unwrap();
        assert_eq!(starts(&log), [0; 0]);
        assert!(folder.path().join("r.log-x").exists());
    }

    #[test]
    fn a_batch_that_is_longer_than_a_part_is_cut_at_its_lines_and_a_line_is_never_cut() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("r.log");
        let mut parted = PartedLog::open(log.clone(), 400).unwrap();
        parted.append(&(0..100).flat_map(line).collect::<Vec<u8>>()).unwrap();
        let long = [&b"2026-11-20T12:00:00.000Z out "[..], &[b'x'; 1_000], b"\n"].concat();
        parted.append(&long).unwrap();
        parted.append(&line(7)).unwrap();
        let newest: Vec<u8> =
            parts(&log).unwrap()[1..].iter().flat_map(|part| std::fs::read(&part.path).unwrap()).collect();
        assert_eq!(newest, [long, line(7)].concat());
    }

    #[test]
    fn a_short_log_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("r.log");
        assert_eq!(starts(&log), [0; 0]);
        PartedLog::open(log.clone(), 4_000).unwrap().append(&line(1)).unwrap();
        assert_eq!((starts(&log), std::fs::read(&log).unwrap()), (vec![0], line(1)));
    }
}
