//! Warnings about files of the state directory. A disk that is full or read-only fails each run: one warning of each
//! kind is logged per minute, with the number of those left out since the one before.

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::job::{JobName, RunId};

/// The least time between two warnings of a kind.
const APART: Duration = Duration::from_secs(60);

/// The kinds of warnings; clones share their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileWarnings {
    run_log: Arc<Throttle>,
    journal: Arc<Throttle>,
    sign: Arc<Throttle>,
}

impl FileWarnings {
    /// Warns that the log of a run cannot be written.
    pub(super) fn run_log(&self, job: &JobName, run: RunId, file: &Path, error: &dyn Display) {
        if let Some(left_out) = self.run_log.admit(Instant::now()) {
            let file = file.display();
            warn!(%job, %run, %file, %error, left_out, "run log cannot be written, output is dropped");
        }
    }

    /// Warns that the journal cannot be written.
    pub(super) fn journal(&self, job: &JobName, run: RunId, error: &dyn Display) {
        if let Some(left_out) = self.journal.admit(Instant::now()) {
            warn!(%job, %run, %error, left_out, "cannot write runs.jsonl");
        }
    }

    /// Warns that the sign of an ended run could not be removed.
    pub(super) fn sign(&self, job: &JobName, run: RunId, error: &dyn Display) {
        if let Some(left_out) = self.sign.admit(Instant::now()) {
            warn!(%job, %run, %error, left_out, "cannot remove RUN.running of a run that ended");
        }
    }
}

/// One kind of warning: when it was last logged, and how many were left out since.
#[derive(Debug, Default)]
struct Throttle(Mutex<(Option<Instant>, u64)>);

impl Throttle {
    /// Returns how many were left out since the last one, if this one is to be logged; `None` if it is left out, too.
    fn admit(&self, now: Instant) -> Option<u64> {
        let (last, left_out) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| now.duration_since(last) < APART) {
            *left_out += 1;
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_a_minute_is_logged_with_how_many_were_left_out() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        let at = |seconds| throttle.admit(start + Duration::from_secs(seconds));
        assert_eq!(
            [at(0), at(1), at(59), at(60), at(61), at(300)],
            [Some(0), None, None, Some(2), None, Some(1)]
        );
    }
}
