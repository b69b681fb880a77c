//! What was counted of one job. It is written by whoever tells an event, and read by scrapes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use crate::job::{JobName, Outcome, Reason, RunId, Tick, Verdict};
use crate::metrics::catalogue::JOB_RESULTS;
use crate::time::UtcMillis;
use crate::time::millis::millis;

/// How a tick counts for its job, in the order of [`JOB_RESULTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobResult {
    /// Its run succeeded.
    Ok,
    /// Its run did not.
    Failed,
    /// It did not run, or perhaps did not.
    Missed,
    /// It was decided that it does not run, or its run was stopped for an operator or a newer tick.
    Skipped,
}

impl JobResult {
    /// Returns how a tick with this verdict counts; `None` while it runs.
    fn of(verdict: Verdict) -> Option<Self> {
        Some(match verdict.outcome {
            Outcome::Running => return None,
            Outcome::Succeeded => Self::Ok,
            Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => Self::Failed,
            Outcome::Unknown if verdict.reason == Some(Reason::LeftBehind) => Self::Failed,
            Outcome::Missed | Outcome::Unknown => Self::Missed,
            Outcome::Skipped | Outcome::Killed => Self::Skipped,
        })
    }
}

/// A run of this replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunningHere {
    pub(crate) run: RunId,
    pub(crate) tick: Tick,
    /// When it began, by the clock that decides when ticks are due.
    pub(crate) started: UtcMillis,
}

/// What was counted of one job since this replica started. Instants are 0 before the first.
#[derive(Debug, Default)]
pub(crate) struct JobTally {
    results: [AtomicU64; JOB_RESULTS.len()],
    run_millis: AtomicU64,
    /// The newest tick whose run succeeded, and when the newest successful run ended.
    success_tick: AtomicI64,
    success_at: AtomicI64,
    /// When a tick last counted as failed or missed.
    failure_at: AtomicI64,
    /// The newest tick that this replica saw decided.
    decided: AtomicI64,
    running: Mutex<Option<RunningHere>>,
}

impl JobTally {
    /// Counts a tick that was decided, or whose run ended, at this instant of the store's clock.
    pub(crate) fn count_result(&self, tick: Tick, verdict: Verdict, at: UtcMillis) {
        let Some(result) = JobResult::of(verdict) else { return };
        if let Some(count) = self.results.get(result as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        match result {
            JobResult::Ok => {
                raise(&self.success_tick, tick.instant());
                raise(&self.success_at, at);
            }
            JobResult::Failed | JobResult::Missed => raise(&self.failure_at, at),
            JobResult::Skipped => {}
        }
    }

    /// Adds the time that a run took.
    pub(crate) fn add_run(&self, took: Duration) {
        self.run_millis.fetch_add(millis(took), Ordering::Relaxed);
    }

    /// Notes that the ticks of the job are decided up to this one.
    pub(crate) fn decide(&self, tick: Tick) {
        raise(&self.decided, tick.instant());
    }

    /// Notes that a run has begun on this replica.
    pub(crate) fn begin(&self, run: RunningHere) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// Notes that this run is over, or was not started after all.
    pub(crate) fn end(&self, run: RunId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.take_if(|running| running.run == run);
    }

    /// Returns how many ticks count under each of [`JOB_RESULTS`].
    pub(crate) fn results(&self) -> [u64; JOB_RESULTS.len()] {
        self.results.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns the time that all runs took.
    pub(crate) fn run_time(&self) -> Duration {
        Duration::from_millis(self.run_millis.load(Ordering::Relaxed))
    }

    /// Returns the newest tick whose run succeeded.
    pub(crate) fn success_tick(&self) -> Option<UtcMillis> {
        known(&self.success_tick)
    }

    /// Returns when the newest successful run ended.
    pub(crate) fn success_at(&self) -> Option<UtcMillis> {
        known(&self.success_at)
    }

    /// Returns when a tick last counted as failed or missed.
    pub(crate) fn failure_at(&self) -> Option<UtcMillis> {
        known(&self.failure_at)
    }

    /// Returns the newest tick that this replica saw decided.
    pub(crate) fn decided(&self) -> Option<Tick> {
        known(&self.decided).map(Tick)
    }

    /// Returns the run that is going on this replica.
    pub(crate) fn running(&self) -> Option<RunningHere> {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn raise(instant: &AtomicI64, to: UtcMillis) {
    instant.fetch_max(to.0, Ordering::Relaxed);
}

fn known(instant: &AtomicI64) -> Option<UtcMillis> {
    Some(UtcMillis(instant.load(Ordering::Relaxed))).filter(|at| *at > UtcMillis(0))
}

/// The tallies of all jobs of the file in effect.
#[derive(Debug, Default)]
pub(crate) struct JobTallies(RwLock<HashMap<JobName, Arc<JobTally>>>);

impl JobTallies {
    /// Returns an empty tally for each of these jobs.
    pub(crate) fn of(jobs: impl IntoIterator<Item = JobName>) -> Self {
        Self(RwLock::new(jobs.into_iter().map(|job| (job, Arc::default())).collect()))
    }

    /// Adds and removes jobs, because another file is in effect.
    pub(crate) fn change(&self, added: &[JobName], removed: &[JobName]) {
        let mut jobs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        removed.iter().for_each(|job| drop(jobs.remove(job)));
        for job in added {
            jobs.entry(job.clone()).or_default();
        }
    }

    /// Returns the tally of a job; `None` if the file does not name it.
    pub(crate) fn of_job(&self, job: &JobName) -> Option<Arc<JobTally>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(job).cloned()
    }
}
