//! The output of runs that this machine has logs of, read off the runtime: the disk may hang.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, RunId};
use crate::run::{Disk, LogStart, RunLogs, read_range};
use crate::time::{Clock, SystemClock};

use super::look::LogLook;

/// The log of a run is read within this time, or not at all: a reader that waits is told why.
pub(super) const DISK_PATIENCE: Duration = Duration::from_millis(1_500);

/// The stored runs of a state folder, for readers; clones share its disk.
#[derive(Debug, Clone)]
pub struct LocalOutput {
    logs: Arc<RunLogs>,
    /// Its patience is not that of the runs: no reading holds up their writing.
    disk: Disk,
}

impl LocalOutput {
    /// Returns the stored runs of this state folder.
    pub fn new(state_dir: &Path) -> Self {
        let logs = RunLogs::new(state_dir, Arc::new(|| SystemClock.utc()));
        Self { logs: Arc::new(logs), disk: Disk::default() }
    }

    /// Whether this machine runs this run, or has its log.
    ///
    /// # Errors
    /// If the folder cannot be read in time.
    pub async fn has(&self, job: &JobName, run: RunId) -> io::Result<bool> {
        let look = self.look(job, run, LogStart::Byte(u64::MAX), 0).await?;
        Ok(look.is_running || look.range.exists)
    }

    /// Reads the next piece of a log.
    pub(super) async fn look(
        &self,
        job: &JobName,
        run: RunId,
        start: LogStart,
        max: usize,
    ) -> io::Result<LogLook> {
        let (logs, job) = (Arc::clone(&self.logs), job.clone());
        let work = move || {
            // Checked before reading, so that everything printed up to the end of the run is read.
            let is_running = logs.is_running(&job, run);
            let range = read_range(&logs.log_path(&job, run), start, max)?;
            Ok(LogLook { is_running, range })
        };
        self.disk.work(DISK_PATIENCE, work, drop).await
    }
}
