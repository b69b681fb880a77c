//! Finds the process that keeps all others from writing the file, and whether it can be continued.
//!
//! SQLite's locks are record locks, whose owners `/proc/locks` lists. They are not read with `fcntl`: closing the
//! descriptor that this takes would release the locks that SQLite itself holds in this process.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use crate::config::source::trust::is_of_this_program;

/// In the index: the byte of the write lock, and that of the lock under which the index is created or cleared.
const INDEX_LOCKS: [u64; 2] = [120, 128];

/// In the file itself, locks begin at this byte.
const FILE_LOCKS: u64 = 0x4000_0000;

/// After this many looks, waiting replicas have continued the process if they may, and a write has ended unless its process
/// hangs.
const LOOKS: u32 = 12;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The kernel returns `/proc/locks` one page at a time: a reading may miss a lock while others come and go.
const READINGS: usize = 3;

/// Another process that holds one of SQLite's locks exclusively.
#[derive(Debug)]
pub(super) struct Blocker {
    pid: Pid,
    /// Its name for people.
    name: String,
    state: ProcessState,
}

/// The state of a process, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    /// Stopped by a signal, such as SIGSTOP or one from a terminal.
    Stopped,
    /// Stopped by a debugger.
    Traced,
    /// Anything else, by its letter.
    Other(char),
}

impl Blocker {
    /// Returns the process that keeps others from writing the file at this moment; `None` if there is none, or none that
    /// can be seen.
    pub(super) fn of(path: &Path) -> Option<Self> {
        (0..READINGS).find_map(|_| Self::in_one_reading(path))
    }

    fn in_one_reading(path: &Path) -> Option<Self> {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let locks: Vec<FileLock> = locks.lines().filter_map(FileLock::read).collect();
        let mut index = path.as_os_str().to_owned();
        index.push("-shm");
        let index = PathBuf::from(index);
        let on_index = |byte: u64| (index.as_path(), byte..=byte);
        let places = INDEX_LOCKS.map(on_index).into_iter().chain([(path, FILE_LOCKS..=u64::MAX)]);
        places.into_iter().find_map(|(file, bytes)| {
            let file = fs::metadata(file).ok()?;
            let covers = |lock: &&FileLock| lock.first <= *bytes.end() && lock.last >= *bytes.start();
            let held = locks.iter().filter(covers).find(|lock| lock.is_on(&file))?;
            Self::at(held.pid)
        })
    }

    /// Returns the process that has kept others from writing the file for a second, as far as repeated looks show. Blocks
    /// the thread meanwhile.
    #[expect(
        clippy::disallowed_methods,
        reason = "on a thread of its own; the kernel tells nobody of such locks"
    )]
    pub(super) fn that_lasts(path: &Path) -> Option<Self> {
        let first = Self::of(path)?;
        (0..LOOKS).try_fold(first, |before, _| {
            std::thread::sleep(LOOK_EVERY);
            Self::of(path).filter(|now| now.pid == before.pid)
        })
    }

    fn at(pid: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let (head, tail) = stat.rsplit_once(')')?;
        let state = match tail.trim_start().chars().next()? {
            'T' => ProcessState::Stopped,
            't' => ProcessState::Traced,
            other => ProcessState::Other(other),
        };
        let name = head.split_once('(')?.1;
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        Some(Self {
            pid,
            name: node_in(&command).map_or(name.to_owned(), |node| format!("{name} {node}")),
            state,
        })
    }

    /// Whether it is stopped, and will not continue by itself.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state, ProcessState::Stopped | ProcessState::Traced)
    }

    /// Continues the process, if it is stopped and runs this very program. It then does what it would do after any SIGCONT:
    /// it ends its transaction, and stops runs whose deadlines have passed. Returns whether it was continued.
    pub(super) fn wake(&self) -> bool {
        self.state == ProcessState::Stopped
            && is_of_this_program(self.pid)
            && kill(self.pid, Signal::SIGCONT).is_ok()
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, name, state } = self;
        match state {
            ProcessState::Stopped => write!(
                f,
                "process {pid} ({name}) is stopped (T) in the middle of a write: continue it with `kill -CONT {pid}`, \
                 or end it with `kill -9 {pid}`"
            ),
            ProcessState::Traced => write!(
                f,
                "process {pid} ({name}) is stopped by a debugger (t) in the middle of a write: let it continue, or end \
                 it with `kill -9 {pid}`"
            ),
            ProcessState::Other(state) => {
                write!(
                    f,
                    "process {pid} ({name}), in state {state}, does not end its write; is the disk too busy?"
                )
            }
        }
    }
}

/// Returns the replica's name on a command line.
fn node_in(command: &[u8]) -> Option<String> {
    let mut arguments = command.split(|byte| *byte == 0);
    arguments.find(|argument| *argument == b"--node")?;
    arguments.next().map(|node| String::from_utf8_lossy(node).into_owned())
}

/// An exclusive lock of another process on a part of a file.
#[derive(Debug, PartialEq, Eq)]
struct FileLock {
    pid: Pid,
    /// Major and minor number.
    device: (u64, u64),
    inode: u64,
    first: u64,
    last: u64,
}

impl FileLock {
    /// Parses a line of `/proc/locks`: `7: POSIX  ADVISORY  WRITE 4711 fe:00:10019169 120 120`.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if (fields.next()?, fields.nth(1)?) != ("POSIX", "WRITE") {
            return None;
        }
        let pid = fields.next()?.parse().ok().map(Pid::from_raw).filter(|pid| *pid != getpid())?;
        let mut place = fields.next()?.split(':');
        let mut hex = || u64::from_str_radix(place.next()?, 16).ok();
        let device = (hex()?, hex()?);
        let inode = place.next()?.parse().ok()?;
        let first = fields.next()?.parse().ok()?;
        let last = fields.next().map(|last| last.parse().unwrap_or(u64::MAX))?;
        Some(Self { pid, device, inode, first, last })
    }

    /// Whether it is on this file. Some file systems show another device in `/proc/locks`; then the files that the process
    /// has open decide.
    fn is_on(&self, file: &fs::Metadata) -> bool {
        let device = (nix::sys::stat::major(file.dev()), nix::sys::stat::minor(file.dev()));
        self.inode == file.ino() && (self.device == device || self.has_open(file))
    }

    fn has_open(&self, file: &fs::Metadata) -> bool {
        let opened = fs::read_dir(format!("/proc/{}/fd", self.pid)).into_iter().flatten().flatten();
        let mut found = opened.filter_map(|opened| fs::metadata(opened.path()).ok());
        found.any(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_read_that_others_hold_for_themselves_alone() {
        let line = "7: POSIX  ADVISORY  WRITE 4711 fe:00:10019169 120 128";
        let (pid, device) = (Pid::from_raw(4711), (0xfe, 0));
        assert_eq!(
            FileLock::read(line),
            Some(FileLock { pid, device, inode: 10_019_169, first: 120, last: 128 })
        );
        assert_eq!(FileLock::read(&line.replace("128", "EOF")).map(|lock| lock.last), Some(u64::MAX));
        let own = line.replace("4711", &getpid().to_string());
        for other in [
            own,
            line.replace("WRITE", "READ"),
            line.replace("POSIX", "-> POSIX"),
            line.replace("POSIX", "FLOCK"),
        ] {
            assert_eq!(FileLock::read(&other), None, "{other}");
        }
    }

    #[test]
    fn a_replica_is_named_by_its_command_line() {
        assert_eq!(node_in(b"solocron\0run\0--node\0n2\0"), Some("n2".to_owned()));
        assert_eq!(node_in(b"solocron\0run\0"), None);
    }
}
