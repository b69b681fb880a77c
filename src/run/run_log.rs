//! The log of one run, through all its attempts. Whatever happens to its files, the run goes on.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::entry::RunEntry;
use super::marker::Marker;
use super::run_files::create_folder;
use super::run_logs::WallClock;
use crate::job::{JobName, RunId, UtcMillis};

/// The log of a run that goes on; made by `RunLogs::begin`, ended by `RunLogs::finish`.
pub struct RunLog {
    entry: RunEntry,
    now: WallClock,
    path: PathBuf,
    marker: Option<Marker>,
    broken: AtomicBool,
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RunLog {
    /// The log of the run that `entry` describes, at `path`. Blocks on files; an error is said and costs the log only.
    pub(super) fn begin(entry: RunEntry, path: PathBuf, now: WallClock) -> Self {
        let put_up = path
            .parent()
            .map_or(Ok(()), create_folder)
            .and_then(|()| Marker::put_up(path.with_extension("running"), &entry));
        let (marker, error) = match put_up {
            Ok(marker) => (Some(marker), None),
            Err(error) => (None, Some(error)),
        };
        let log = Self { entry, now, path, marker, broken: AtomicBool::new(false) };
        if let Some(error) = error {
            log.broke(&error);
        }
        log
    }

    /// The log of a run of which no file is kept.
    pub(super) fn unkept(entry: RunEntry, now: WallClock) -> Self {
        Self { entry, now, path: PathBuf::new(), marker: None, broken: AtomicBool::new(true) }
    }

    /// The file that holds the output, once there is some.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The job.
    pub(super) fn job(&self) -> &JobName {
        &self.entry.job
    }

    /// The run.
    pub(super) fn run(&self) -> RunId {
        self.entry.run
    }

    /// Another hold on the sign that the run goes on, for its guard: the sign is true until both have let go.
    pub(super) fn sign(&self) -> Option<OwnedFd> {
        self.marker.as_ref()?.hold().ok()
    }

    /// The wall clock that stamps lines.
    pub(super) fn now(&self) -> UtcMillis {
        (self.now)()
    }

    /// Whether output is dropped since an error.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Output cannot be written: it is dropped from here on, which is said once.
    pub(super) fn broke(&self, error: &io::Error) {
        if !self.broken.swap(true, Ordering::Relaxed) {
            let (job, run, file) = (self.job(), self.run(), self.path.display());
            tracing::warn!(%job, %run, %file, %error, "run log cannot be written, output is dropped");
        }
    }

    /// The run's entry, and the sign to be taken down once it is in the journal. The entry's `log` is relative to `base`.
    pub(super) fn close(self, base: &Path) -> (RunEntry, Option<Marker>) {
        let there = fs::exists(&self.path).unwrap_or(false);
        let log = there.then(|| self.path.strip_prefix(base).unwrap_or(&self.path).to_owned());
        (RunEntry { log, ..self.entry }, self.marker)
    }
}
