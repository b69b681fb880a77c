//! The newest lock of each job as this replica knows it, in memory and on disk, so that the lock is known after a
//! restart, or when the store forgot it. A file error never stops a run: it is logged once, and may cost the job one
//! lease after a crash.
//!
//! ```text
//! STATE_DIR/leases/CLUSTER/NODE/JOB.json       one note per job, one line; folders 0750, files 0640
//! STATE_DIR/leases/CLUSTER/NODE/replica.lock   locked by the replica while its process exists
//! ```
//!
//! A note overwrites the previous one and is not synced: about 10 µs. Renaming a new file into place took 1 ms on
//! ext4, which flushes such a file, and every start of a run would wait for that. A power cut may tear a note; but it
//! ends the runs as well, and a note that cannot be read costs one lease.

pub(crate) mod entry;
pub(crate) mod folder_lock;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use entry::{LeaseNote, NoteError};
use folder_lock::{FolderLock, FolderTaken};
use nix::libc;

use crate::job::{ClusterName, Fence, JobName, NodeName, RunId};
use crate::lease::Era;
use crate::run::{Disk, Site};

/// A longer file was not written by a replica. The tail is at most 4 KiB, which JSON may write six times as long.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// If the disk takes longer, a run starts or ends without its note.
const PATIENCE: Duration = Duration::from_secs(5);

/// The notes of one replica; clones share them.
#[derive(Clone)]
pub struct LeaseFile {
    disk: Disk,
    notes: Arc<LeaseNotes>,
}

struct LeaseNotes {
    /// `None`: nothing is written to disk.
    folder: Option<PathBuf>,
    store: String,
    /// The lock that keeps other processes of this name out of the folder, once it is held.
    folder_lock: OnceLock<FolderLock>,
    by_job: Mutex<BTreeMap<JobName, Arc<NotedLease>>>,
    /// Whether the last write failed. Only the first failure in a row is logged.
    broken: AtomicBool,
}

/// The note of one job. Writes of one job run one after the other, and each writes the newest note.
struct NotedLease {
    /// The newest version of the note, with its number; no note if nothing has to be remembered.
    newest: Mutex<(u64, Option<LeaseNote>)>,
    /// The number of the version on disk; 0 if none is.
    on_disk: Mutex<u64>,
}

impl fmt::Debug for LeaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseFile").field("folder", &self.notes.folder).finish_non_exhaustive()
    }
}

impl LeaseFile {
    /// The notes of this replica under `state_dir`. `store` is the label of the store that the locks are in.
    pub fn new(state_dir: &Path, cluster: &ClusterName, node: &NodeName, store: String) -> Self {
        let folder = state_dir.join("leases").join(cluster.as_str()).join(node.as_str());
        Self::at(Some(folder), store)
    }

    /// Notes in memory only, for a process that no later process continues.
    pub(crate) fn unwritten(store: String) -> Self {
        Self::at(None, store)
    }

    fn at(folder: Option<PathBuf>, store: String) -> Self {
        let (folder_lock, by_job, broken) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
        let notes = Arc::new(LeaseNotes { folder, store, folder_lock, by_job, broken });
        Self { disk: Disk::default(), notes }
    }

    /// Locks the notes for the lifetime of this process. If the disk does not allow that, other processes are not
    /// kept out, and a later process does not trust the notes of runs that were still going.
    ///
    /// # Errors
    ///
    /// Another process holds the lock; the error names it.
    pub async fn take_over(&self) -> Result<(), FolderTaken> {
        let Some(folder) = self.notes.folder.as_deref().filter(|_| self.notes.folder_lock.get().is_none())
        else {
            return Ok(());
        };
        match FolderLock::begin(&self.disk, folder).await? {
            Ok(folder_lock) => drop(self.notes.folder_lock.set(folder_lock)),
            Err(error) => {
                let folder = folder.display();
                tracing::warn!(%folder, %error,
                    "notes of locks cannot be kept from others: after a crash of this replica their jobs wait one lease");
            }
        }
        Ok(())
    }

    /// Where this replica writes its notes; `None` if the folder is not locked or the place is not known.
    pub(crate) fn site(&self) -> Option<&Site> {
        self.notes.folder_lock.get()?.site.as_ref()
    }

    /// Stores the note of the job, unless that of a later grant is stored, and writes it to disk if the disk allows.
    pub(crate) async fn keep(&self, job: &JobName, note: LeaseNote) {
        self.put(job, note);
        self.write(job).await;
    }

    /// Stores the note in memory only, as `keep` does. `write` writes it to disk.
    pub(crate) fn put(&self, job: &JobName, note: LeaseNote) {
        let fence = note.lease().fence;
        self.notes.turn(job, Some(note), |before| before.lease().fence <= fence);
    }

    /// Writes the newest note of the job to disk, if the disk allows.
    pub(crate) async fn write(&self, job: &JobName) {
        let Some(noted) = locked(&self.notes.by_job).get(job).map(Arc::clone) else { return };
        let (notes, of) = (Arc::clone(&self.notes), job.clone());
        let write = move || {
            notes.write(&of, &noted);
            Ok(())
        };
        if let Err(error) = self.disk.work(PATIENCE, write, drop).await {
            self.notes.broke(job, &error);
        }
    }

    /// Deletes the note of the job.
    pub(crate) async fn forget(&self, job: &JobName) {
        self.drop_note(job, |_| true).await;
    }

    /// Deletes the note of the job if it is about this run.
    pub(crate) async fn forget_run(&self, job: &JobName, run: RunId) {
        self.drop_note(job, |note| note.lease().run == run).await;
    }

    /// Deletes the note of the job if `is_meant` accepts it.
    async fn drop_note(&self, job: &JobName, is_meant: impl FnOnce(&LeaseNote) -> bool) {
        self.notes.turn(job, None, is_meant);
        self.write(job).await;
    }

    /// Returns the note of the job.
    pub(crate) fn note(&self, job: &JobName) -> Option<LeaseNote> {
        let by_job = locked(&self.notes.by_job);
        by_job.get(job).and_then(|noted| locked(&noted.newest).1.clone())
    }

    /// Returns the largest fencing token in the notes; 0 if there are none.
    pub(crate) fn largest_fence(&self) -> Fence {
        let by_job = locked(&self.notes.by_job);
        let fence = |noted: &Arc<NotedLease>| locked(&noted.newest).1.as_ref().map(|note| note.lease().fence);
        by_job.values().filter_map(fence).max().unwrap_or_default()
    }

    /// Makes all noted ends uncertain: the store may have forgotten a holder later than these. Sent again without an
    /// era, they free no lock.
    pub(crate) fn doubt_ends(&self) {
        for noted in locked(&self.notes.by_job).values() {
            if let Some(LeaseNote::Ended(finish)) = &mut locked(&noted.newest).1 {
                finish.era = Era::default();
            }
        }
    }

    /// Returns the jobs that have a note.
    pub(crate) fn jobs(&self) -> Vec<JobName> {
        let by_job = locked(&self.notes.by_job);
        let with_note = by_job.iter().filter(|(_, noted)| locked(&noted.newest).1.is_some());
        with_note.map(|(job, _)| job.clone()).collect()
    }

    /// Reads the notes of an earlier process, and returns them. Notes that this process has stored in the meantime
    /// are newer and stay.
    pub(crate) async fn read(&self) -> Vec<(JobName, LeaseNote)> {
        let own = Arc::clone(&self.notes);
        let reading = tokio::task::spawn_blocking(move || own.read());
        let notes = reading.await.expect("reading notes neither panics nor is aborted");
        for (job, note) in &notes {
            self.notes.turn(job, Some(note.clone()), |_| false);
        }
        notes
    }
}

impl LeaseNotes {
    /// Replaces the note of the job if it has none, or if `may_replace` accepts the old one.
    fn turn(&self, job: &JobName, note: Option<LeaseNote>, may_replace: impl FnOnce(&LeaseNote) -> bool) {
        let mut by_job = locked(&self.by_job);
        let new = || Arc::new(NotedLease { newest: Mutex::new((0, None)), on_disk: Mutex::new(0) });
        let mut newest = locked(&by_job.entry(job.clone()).or_insert_with(new).newest);
        if newest.1.as_ref().is_none_or(may_replace) {
            *newest = (newest.0 + 1, note);
        }
    }

    /// Writes the newest note of the job, unless it has been written already.
    fn write(&self, job: &JobName, noted: &NotedLease) {
        let Some(folder) = &self.folder else { return };
        let mut on_disk = locked(&noted.on_disk);
        let (number, text) = {
            let newest = locked(&noted.newest);
            if newest.0 == *on_disk {
                return;
            }
            (newest.0, newest.1.as_ref().map(|note| note.to_text(&self.store)))
        };
        match replace(&folder.join(format!("{job}.json")), text) {
            Ok(()) => {
                *on_disk = number;
                self.broken.store(false, Ordering::Relaxed);
            }
            Err(error) => self.broke(job, &error),
        }
    }

    /// Logs that a note could not be written: once, until a write succeeds again.
    fn broke(&self, job: &JobName, error: &io::Error) {
        let Some(folder) = &self.folder else { return };
        if !self.broken.swap(true, Ordering::Relaxed) {
            let folder = folder.display();
            tracing::warn!(%job, %folder, %error,
                "cannot write the locks to disk: after a crash of this replica their jobs wait one lease");
        }
    }

    fn read(&self) -> Vec<(JobName, LeaseNote)> {
        let listed = self.folder.iter().flat_map(fs::read_dir);
        let files = listed.flatten().flatten().map(|entry| entry.path());
        let (mut notes, mut ignored) = (Vec::new(), Vec::new());
        for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
            let job = path.file_stem().and_then(|stem| JobName::parse(stem.to_str()?).ok());
            let Some(job) = job else { continue };
            match read(&path, &self.store) {
                Ok(note) => notes.push((job, note)),
                Err(error) => ignored.push((path, error)),
            }
        }
        if let Some((path, error)) = ignored.first() {
            let file = path.display();
            tracing::warn!(notes = ignored.len(), %file, %error, "notes from before the restart are ignored");
        }
        notes
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Overwrites the file with the note as one line, and then cuts off the rest of a longer one. `None` deletes the
/// file.
fn replace(path: &Path, text: Option<Vec<u8>>) -> io::Result<()> {
    let Some(mut text) = text else {
        return fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
    };
    text.push(b'\n');
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o640).custom_flags(libc::O_NOFOLLOW);
    let open = || options.open(path);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().expect("a note lies in a folder");
            DirBuilder::new().recursive(true).mode(0o750).create(folder)?;
            open()?
        }
        opened => opened?,
    };
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

fn read(path: &Path, store: &str) -> Result<LeaseNote, NoteError> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64).read_to_end(&mut text)?;
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    LeaseNote::from_text(line, store)
}
