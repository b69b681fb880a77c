//! What this process knows of cells without reading them: what its own swaps wrote, and what the server's clock shows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::job::JobName;
use crate::lease::Era;
use crate::time::{BootInstant, UtcMillis};

use super::{ConfirmedBeat, JobCell};

/// The estimate of the server's time advances slower than this machine's clock by one part in this many, because that clock may
/// be faster than the server's: a swap by an estimate that is ahead is refused.
const SLOWER: u32 = 1_000;

/// A cell that this process wrote, in the era in which it did.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) cell: JobCell,
    pub(super) era: Era,
}

/// The memory of one process.
#[derive(Debug, Default)]
pub(super) struct CellMemory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: HashMap<JobName, Written>,
    /// What the server's clock showed before this moment.
    shown: Option<(BootInstant, UtcMillis)>,
    /// The newest heartbeat of this process that the server has confirmed.
    beat: Option<ConfirmedBeat>,
}

impl CellMemory {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the server's time (`shown`) from an answer that arrived at `now`.
    pub(super) fn saw(&self, shown: UtcMillis, now: BootInstant) {
        self.lock().shown = Some((now, shown));
    }

    /// Returns the server's time at `now`, as an estimate that should not be ahead of it; `None` before the first answer.
    pub(super) fn server_time(&self, now: BootInstant) -> Option<UtcMillis> {
        let (at, shown) = self.lock().shown?;
        let passed = now.since(at);
        let passed: Duration = passed.saturating_sub(passed / SLOWER);
        Some(shown.plus(passed))
    }

    /// Records that the server has a heartbeat of this process.
    pub(super) fn confirmed(&self, beat: ConfirmedBeat) {
        self.lock().beat = Some(beat);
    }

    /// Returns the newest heartbeat that the server has confirmed; `None` for a process that sends none.
    pub(super) fn beat(&self) -> Option<ConfirmedBeat> {
        self.lock().beat.clone()
    }

    /// Takes out what is known of a job's cell.
    pub(super) fn take(&self, job: &JobName) -> Option<Written> {
        self.lock().written.remove(job)
    }

    /// Records what was written into a job's cell.
    pub(super) fn wrote(&self, job: JobName, cell: JobCell, era: Era) {
        self.lock().written.insert(job, Written { cell, era });
    }
}
