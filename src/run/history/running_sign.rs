//! `RUN.running`: the sign of a running run. Its replica and its guard hold a lock on it from before it becomes
//! visible. The kernel frees that lock however both end, which distinguishes a sign that a crash left behind from a
//! true one.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::unistd::write;
use serde::{Deserialize, Serialize};

use crate::job::{Outcome, Reason, Verdict};
use crate::run::output::log_file;

use super::run_entry::RunEntry;
use super::site::Site;

/// What a guard appends to the sign of a run whose end it saw after its replica was gone. Readers of the sign's JSON
/// skip it.
const END: u8 = b'\n';

/// A sign as stored in its file.
#[derive(Serialize, Deserialize)]
struct StoredSign {
    #[serde(flatten)]
    entry: RunEntry,
    /// Where it was created: a copy of it elsewhere is not locked. Earlier releases did not store this.
    #[serde(default)]
    site: Option<Site>,
}

/// A sign that exists.
#[derive(Debug, Clone)]
pub struct Sign {
    /// The run.
    pub entry: RunEntry,
    /// Why the run may be running although no process here holds the sign; `None` if the sign was created at this
    /// very site.
    pub elsewhere: Option<&'static str>,
}

/// The sign of a run of this process.
#[derive(Debug)]
pub(crate) struct OwnSign {
    path: PathBuf,
    /// Held, never read: the lock is free once this file and every other descriptor of it are closed.
    lock: File,
}

impl OwnSign {
    /// Creates the sign and locks it.
    pub(crate) fn put_up(path: PathBuf, entry: &RunEntry) -> io::Result<Self> {
        let unseen = path.with_extension("running-new");
        let mut file = log_file::options().open(&unseen)?;
        file.lock()?;
        let stored = StoredSign { entry: entry.clone(), site: Site::of(&file) };
        let put_up = file.write_all(&serde_json::to_vec(&stored)?).and_then(|()| fs::rename(&unseen, &path));
        if let Err(error) = put_up {
            // The first error is the one to report.
            let _ = fs::remove_file(&unseen);
            return Err(error);
        }
        Ok(Self { path, lock: file })
    }

    /// Returns another descriptor that holds the lock.
    pub(crate) fn hold(&self) -> io::Result<OwnedFd> {
        self.lock.try_clone().map(OwnedFd::from)
    }

    /// Removes the sign.
    pub(crate) fn take_down(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Records in the sign, which the guard holds, that the run is over: its replica is gone, and cannot.
pub(crate) fn note_end(sign: &OwnedFd) {
    // If the disk is full, the replica's next process waits for the end of the lease.
    let _ = write(sign, &[END]);
}

/// The state of a run's sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignState {
    /// Its replica or its guard holds it. A sign that cannot be judged counts as held, so that nothing of the run is
    /// deleted.
    Held,
    /// No process holds it: the replica was killed, and the guard as well, before it saw the end of the run.
    Free,
    /// No process holds it, and the guard saw the end of the run.
    Ended,
    /// No sign exists. It may have been deleted while the run was running.
    Missing,
}

/// Returns the state of the sign at this path.
pub(crate) fn state(path: &Path) -> SignState {
    match File::open(path) {
        Ok(file) if file.try_lock_shared().is_err() => SignState::Held,
        Ok(file) if has_end(&file) => SignState::Ended,
        Ok(_) => SignState::Free,
        Err(error) if error.kind() == io::ErrorKind::NotFound => SignState::Missing,
        Err(_) => SignState::Held,
    }
}

/// Whether a guard has recorded in the sign that the run is over.
fn has_end(mut file: &File) -> bool {
    let mut last = [0];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    read.is_ok() && last == [END]
}

/// Whether the run of this sign is running, as far as the lock shows.
pub(crate) fn is_live(path: &Path) -> bool {
    state(path) == SignState::Held
}

/// Reads a sign, whose run is running or was interrupted with its replica; `None` if it does not exist or cannot be
/// read.
pub(crate) fn read(path: &Path) -> Option<Sign> {
    let file = File::open(path).ok()?;
    let StoredSign { entry, site } = serde_json::from_reader(io::BufReader::new(&file)).ok()?;
    let elsewhere = Site::difference(site.as_ref(), Site::of(&file).as_ref());
    let left_behind = !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    let entry = if left_behind { entry.with(lost) } else { entry };
    Some(Sign { entry, elsewhere })
}
