//! The log of one run, through all its attempts. Whatever happens to its files, the run continues.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::job::{JobName, RunId};
use crate::time::UtcMillis;

use super::archive::WallClock;
use super::disk::Disk;
use super::run_entry::RunEntry;
use super::running_sign::OwnSign;
use super::warnings::FileWarnings;

/// The log of a running run, from `RunLogs::begin` to `RunLogs::finish`.
pub struct RunLog {
    entry: RunEntry,
    now: WallClock,
    path: PathBuf,
    disk: Disk,
    marker: Option<OwnSign>,
    broken: AtomicBool,
    warnings: FileWarnings,
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RunLog {
    /// Returns the log of the run that `entry` describes, at `path`. If the sign could not be created, that is
    /// logged, and only the log is lost.
    pub(crate) fn new(
        entry: RunEntry,
        disk: Disk,
        path: PathBuf,
        now: WallClock,
        warnings: FileWarnings,
        sign: io::Result<OwnSign>,
    ) -> Self {
        let (marker, error) = match sign {
            Ok(marker) => (Some(marker), None),
            Err(error) => (None, Some(error)),
        };
        let log = Self { entry, now, path, disk, marker, broken: AtomicBool::new(false), warnings };
        if let Some(error) = error {
            log.broke(&error);
        }
        log
    }

    /// Returns the log of a run of which no file is stored.
    pub(crate) fn unkept(entry: RunEntry, now: WallClock) -> Self {
        let (path, disk, broken) = (PathBuf::new(), Disk::default(), AtomicBool::new(true));
        Self { entry, now, path, disk, marker: None, broken, warnings: FileWarnings::default() }
    }

    /// Returns the path of the file that holds the output, once there is some.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the disk of that file.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The job.
    pub(crate) fn job(&self) -> &JobName {
        &self.entry.job
    }

    /// The run.
    pub(crate) fn run(&self) -> RunId {
        self.entry.run
    }

    /// Returns another descriptor of the sign, for the guard: the sign is held until both are closed.
    pub(crate) fn sign(&self) -> Option<OwnedFd> {
        self.marker.as_ref()?.hold().ok()
    }

    /// Returns the time of the wall clock that stamps lines.
    pub(crate) fn now(&self) -> UtcMillis {
        (self.now)()
    }

    /// Whether output is dropped: since an error, or because no file is stored.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Records that output cannot be written: it is dropped from here on, with one warning at most.
    pub(crate) fn broke(&self, error: &io::Error) {
        if !self.broken.swap(true, Ordering::Relaxed) {
            self.warnings.run_log(self.job(), self.run(), &self.path, error);
        }
    }

    /// Returns the run's entry, and the sign to be removed once the entry is in the journal. If the log `is_there`,
    /// the entry has its path relative to `base`.
    pub(crate) fn close(self, is_there: bool, base: &Path) -> (RunEntry, Option<OwnSign>) {
        let log = is_there.then(|| self.path.strip_prefix(base).unwrap_or(&self.path).to_owned());
        (RunEntry { log, ..self.entry }, self.marker)
    }
}
