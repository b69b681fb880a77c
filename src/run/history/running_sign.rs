//! `RUN.running`: the sign that a run goes on. Its replica and its guard hold a lock on it from before it can be seen, and
//! the kernel frees that lock however both end, so that a sign left behind by a crash is told from a true one.

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

/// What a guard appends to the sign of a run whose end it saw after its replica was gone. Whoever reads the sign's JSON skips it.
const END: u8 = b'\n';

/// A sign as its file has it.
#[derive(Serialize, Deserialize)]
struct StoredSign {
    #[serde(flatten)]
    entry: RunEntry,
    /// Where it was put up: a copy of it is locked by nobody. Earlier releases told nothing of that.
    #[serde(default)]
    site: Option<Site>,
}

/// A sign that is up.
#[derive(Debug, Clone)]
pub struct Sign {
    /// The run.
    pub entry: RunEntry,
    /// Why the run may go on although nobody here is at it; nothing where the sign was put up right here.
    pub elsewhere: Option<&'static str>,
}

/// The sign of a run of this process.
#[derive(Debug)]
pub(crate) struct OwnSign {
    path: PathBuf,
    /// Held, never read: closing it, and every other hold on it, frees the lock.
    lock: File,
}

impl OwnSign {
    /// Puts up the sign.
    pub(crate) fn put_up(path: PathBuf, entry: &RunEntry) -> io::Result<Self> {
        let unseen = path.with_extension("running-new");
        let mut file = log_file::options().open(&unseen)?;
        file.lock()?;
        let stored = StoredSign { entry: entry.clone(), site: Site::of(&file) };
        let put_up = file.write_all(&serde_json::to_vec(&stored)?).and_then(|()| fs::rename(&unseen, &path));
        if let Err(error) = put_up {
            // The first error is the one to tell.
            let _ = fs::remove_file(&unseen);
            return Err(error);
        }
        Ok(Self { path, lock: file })
    }

    /// Another hold on the lock.
    pub(crate) fn hold(&self) -> io::Result<OwnedFd> {
        self.lock.try_clone().map(OwnedFd::from)
    }

    /// Takes the sign down.
    pub(crate) fn take_down(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Notes in the sign, which the guard holds, that the run is over: its replica is gone, and cannot.
pub(crate) fn note_end(sign: &OwnedFd) {
    // Where the disk is full, the next life of the replica waits for the lease.
    let _ = write(sign, &[END]);
}

/// What the sign of a run tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignState {
    /// Its replica or its guard is at it. A sign that cannot be judged counts as this: nothing of it is deleted then.
    Held,
    /// Nobody holds it: its replica was killed, and its guard as well, before it saw the end of the run.
    Free,
    /// Nobody holds it, and its guard saw the end of the run.
    Ended,
    /// There is no sign: who deleted it may have done so while the run goes on.
    Missing,
}

/// What the sign at this path tells.
pub(crate) fn state(path: &Path) -> SignState {
    match File::open(path) {
        Ok(file) if file.try_lock_shared().is_err() => SignState::Held,
        Ok(file) if has_end(&file) => SignState::Ended,
        Ok(_) => SignState::Free,
        Err(error) if error.kind() == io::ErrorKind::NotFound => SignState::Missing,
        Err(_) => SignState::Held,
    }
}

/// Whether a guard has noted in the sign that the run is over.
fn has_end(mut file: &File) -> bool {
    let mut last = [0];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    read.is_ok() && last == [END]
}

/// Whether the run of this sign goes on.
pub(crate) fn is_live(path: &Path) -> bool {
    state(path) == SignState::Held
}

/// Reads a sign, whose run goes on or was interrupted with its replica; `None` if there is none to be read.
pub(crate) fn read(path: &Path) -> Option<Sign> {
    let file = File::open(path).ok()?;
    let StoredSign { entry, site } = serde_json::from_reader(io::BufReader::new(&file)).ok()?;
    let elsewhere = Site::difference(site.as_ref(), Site::of(&file).as_ref());
    let left_behind = !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    let entry = if left_behind { entry.with(lost) } else { entry };
    Some(Sign { entry, elsewhere })
}
