//! The log of one run, through all its attempts. Whatever happens to its files, the run goes on.

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

/// The log of a run that goes on; made by `RunLogs::begin`, ended by `RunLogs::finish`.
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
    /// The log of the run that `entry` describes, at `path`. Where its sign could not be put up, that is said, and costs the
    /// log only.
    pub(crate) fn new(
        entry: RunEntry,
        (disk, path): (Disk, PathBuf),
        (now, warnings): (WallClock, FileWarnings),
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

    /// The log of a run of which no file is kept.
    pub(crate) fn unkept(entry: RunEntry, now: WallClock) -> Self {
        let (path, disk, broken) = (PathBuf::new(), Disk::default(), AtomicBool::new(true));
        Self { entry, now, path, disk, marker: None, broken, warnings: FileWarnings::default() }
    }

    /// The file that holds the output, once there is some.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where that file is.
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

    /// Another hold on the sign that the run goes on, for its guard: the sign is true until both have let go.
    pub(crate) fn sign(&self) -> Option<OwnedFd> {
        self.marker.as_ref()?.hold().ok()
    }

    /// The wall clock that stamps lines.
    pub(crate) fn now(&self) -> UtcMillis {
        (self.now)()
    }

    /// Whether output is dropped since an error.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Output cannot be written: it is dropped from here on, of which there is one warning at the most.
    pub(crate) fn broke(&self, error: &io::Error) {
        if !self.broken.swap(true, Ordering::Relaxed) {
            self.warnings.run_log(self.job(), self.run(), (&self.path, error));
        }
    }

    /// The run's entry, and the sign to be taken down once it is in the journal. The entry's `log`, if that `is_there`, is
    /// relative to `base`.
    pub(crate) fn close(self, is_there: bool, base: &Path) -> (RunEntry, Option<OwnSign>) {
        let log = is_there.then(|| self.path.strip_prefix(base).unwrap_or(&self.path).to_owned());
        (RunEntry { log, ..self.entry }, self.marker)
    }
}
