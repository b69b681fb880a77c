//! The counters of a replica, moved by its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use crate::events::{Event, EventCounter, PeerEvent, Run, StartStages, StoreChange};
use crate::job::{Cause, JobName, Outcome, Reason, Tick, Verdict};
use crate::metrics::catalogue;
use crate::metrics::samples::{Counters, Histograms, Samples, numbers, seconds};
use crate::run::{StopReason, StopSignals};
use crate::time::{Clock, UtcMillis};

use super::job_tally::{JobTallies, RunningHere};

/// Counts the events of a replica.
#[derive(Debug)]
pub struct Tally {
    clock: Arc<dyn Clock>,
    ticks: Counters,
    lateness: Histograms,
    start_stages: Histograms,
    run_duration: Histograms,
    attempts_failed: Counters,
    claims_abandoned: Counters,
    locks_lost: Counters,
    renewal_slack: Histograms,
    kills: Counters,
    store_eras: Counters,
    clock_steps: Counters,
    is_store_up: AtomicBool,
    is_file_loaded: AtomicBool,
    /// When the file in effect was loaded, in milliseconds since the Unix epoch.
    file_loaded_at: AtomicI64,
    jobs: JobTallies,
}

impl Tally {
    /// Returns a tally for a replica that has just loaded these jobs, enabled or not.
    pub fn of(jobs: impl IntoIterator<Item = JobName>, clock: Arc<dyn Clock>) -> Self {
        Self {
            ticks: Counters::of(&catalogue::TICKS),
            lateness: Histograms::of(&catalogue::TICK_LATENESS),
            start_stages: Histograms::of(&catalogue::START_STAGE),
            run_duration: Histograms::of(&catalogue::RUN_DURATION_SECONDS),
            attempts_failed: Counters::of(&catalogue::ATTEMPTS_FAILED),
            claims_abandoned: Counters::of(&catalogue::CLAIMS_ABANDONED),
            locks_lost: Counters::of(&catalogue::LOCKS_LOST),
            renewal_slack: Histograms::of(&catalogue::RENEWAL_SLACK),
            kills: Counters::of(&catalogue::KILLS),
            store_eras: Counters::of(&catalogue::STORE_ERAS),
            clock_steps: Counters::of(&catalogue::CLOCK_STEPS),
            is_store_up: AtomicBool::new(false),
            is_file_loaded: AtomicBool::new(true),
            file_loaded_at: AtomicI64::new(clock.utc().0),
            jobs: JobTallies::of(jobs),
            clock,
        }
    }

    /// Notes that a jobs file was refused when it was read again.
    pub fn file_refused(&self) {
        self.is_file_loaded.store(false, Ordering::Relaxed);
    }

    /// Returns the tallies of the jobs.
    pub(crate) fn jobs(&self) -> &JobTallies {
        &self.jobs
    }

    /// Returns what was counted so far, without what was counted of single jobs.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        let flag = |flag: &AtomicBool| [f64::from(u8::from(flag.load(Ordering::Relaxed)))];
        let loaded_at = UtcMillis(self.file_loaded_at.load(Ordering::Relaxed));
        vec![
            self.ticks.samples(),
            self.lateness.samples(),
            self.start_stages.samples(),
            self.run_duration.samples(),
            self.attempts_failed.samples(),
            self.claims_abandoned.samples(),
            self.locks_lost.samples(),
            self.renewal_slack.samples(),
            self.kills.samples(),
            self.store_eras.samples(),
            self.clock_steps.samples(),
            numbers(&catalogue::STORE_UP, &flag(&self.is_store_up)),
            numbers(&catalogue::FILE_LOAD_SUCCESS, &flag(&self.is_file_loaded)),
            numbers(&catalogue::FILE_LOAD, &[seconds(loaded_at)]),
        ]
    }

    fn run_started(&self, run: &Run, late: Duration, waited: bool) {
        if run.cause == Cause::Schedule && !waited {
            observe(&self.lateness, &[], late.as_secs_f64());
        }
        let Some(job) = self.jobs.of_job(&run.job) else { return };
        let started = run.tick.instant().plus(late);
        job.begin(RunningHere { run: run.run, tick: run.tick, started });
        if matches!(run.cause, Cause::Schedule | Cause::CatchUp) {
            job.decide(run.tick);
        }
    }

    fn run_ended(&self, run: &Run, verdict: Verdict, took: Duration, at: UtcMillis) {
        self.count_tick(&run.job, run.tick, verdict, at);
        let result = match verdict.outcome {
            Outcome::Succeeded => Some("ok"),
            Outcome::Killed => None,
            _ => Some("failed"),
        };
        if let Some(result) = result {
            observe(&self.run_duration, &[result], took.as_secs_f64());
        }
        if let Some(job) = self.jobs.of_job(&run.job) {
            job.add_run(took);
            job.end(run.run);
        }
    }

    fn count_tick(&self, job: &JobName, tick: Tick, verdict: Verdict, at: UtcMillis) {
        self.ticks.count(&[verdict.outcome.as_str(), verdict.reason.map_or("", Reason::as_str)]);
        if let Some(job) = self.jobs.of_job(job) {
            job.count_result(tick, verdict, at);
        }
    }

    fn count_stages(&self, stages: &StartStages) {
        let StartStages { claim, grant, prepare, spawn } = stages;
        for (stage, took) in [("claim", claim), ("grant", grant), ("prepare", prepare), ("spawn", spawn)] {
            observe(&self.start_stages, &[stage], took.as_secs_f64());
        }
    }

    fn count_signals(&self, signals: &StopSignals) {
        for (signal, why) in [("term", signals.term), ("kill", signals.kill)] {
            if let Some(cause) = why.and_then(cause_of) {
                self.kills.count(&[signal, cause]);
            }
        }
    }

    fn decide(&self, job: &JobName, tick: Tick) {
        if let Some(job) = self.jobs.of_job(job) {
            job.decide(tick);
        }
    }

    fn store_changed(&self, change: StoreChange) {
        match change {
            StoreChange::NewEra | StoreChange::DataLost => self.store_eras.count(&[]),
            StoreChange::ClockStepped => self.clock_steps.count(&[]),
            StoreChange::ClockSlewed => {}
        }
    }

    fn file_loaded(&self) {
        self.is_file_loaded.store(true, Ordering::Relaxed);
        self.file_loaded_at.store(self.clock.utc().0, Ordering::Relaxed);
    }

    /// Counts what concerns runs and their locks.
    fn count_run(&self, event: &Event) {
        match event {
            Event::RunStarted { run, late, waited, .. } => self.run_started(run, *late, *waited),
            Event::AttemptFailed { stop_signals, .. } => {
                self.attempts_failed.count(&[]);
                self.count_signals(stop_signals);
            }
            Event::RunEnded { run, verdict, took, at, stop_signals, stages, .. } => {
                self.run_ended(run, *verdict, *took, *at);
                self.count_signals(stop_signals);
                stages.iter().for_each(|stages| self.count_stages(stages));
            }
            Event::ClaimAbandoned { job, run, reason } => {
                self.claims_abandoned.count(&[abandoned_for(*reason)]);
                if let Some(job) = self.jobs.of_job(job) {
                    job.end(*run);
                }
            }
            Event::Renewed { left, lease, .. } => {
                observe(&self.renewal_slack, &[], left.div_duration_f64(*lease));
            }
            Event::LockLost { .. } => self.locks_lost.count(&[]),
            Event::Peer(PeerEvent::RunInterrupted { run, verdict, took, at, .. }) => {
                self.run_ended(run, *verdict, *took, *at);
            }
            _ => {}
        }
    }
}

impl EventCounter for Tally {
    fn count(&self, event: &Event) {
        match event {
            Event::StoreReached { .. } => self.is_store_up.store(true, Ordering::Relaxed),
            Event::StoreLost(_) => self.is_store_up.store(false, Ordering::Relaxed),
            Event::StoreChanged { what } => self.store_changed(*what),
            Event::ClockStepped => self.clock_steps.count(&[]),
            Event::Reloaded { changes, .. } => {
                self.file_loaded();
                self.jobs.change(&changes.added, &changes.removed);
            }
            Event::TickConsumed { job, tick, verdict, at } => {
                self.decide(job, *tick);
                self.count_tick(job, *tick, *verdict, *at);
            }
            Event::TickDecided { job, tick, .. } => self.decide(job, *tick),
            _ => self.count_run(event),
        }
    }
}

fn observe(histograms: &Histograms, labels: &[&str], value: f64) {
    if let Some(histogram) = histograms.with(labels) {
        histogram.observe(value);
    }
}

/// Returns the cause of a stop; `None` if its guard was killed: then the run was killed with it, not stopped.
fn cause_of(why: StopReason) -> Option<&'static str> {
    match why {
        StopReason::GuardLost => None,
        StopReason::Timeout => Some("timeout"),
        StopReason::Operator => Some("operator"),
        StopReason::Replaced => Some("replaced"),
        StopReason::Shutdown => Some("drain"),
        StopReason::LockLost => Some("lock_lost"),
    }
}

/// Returns why a lock was given back. It is too late for whatever has no reason of its own.
fn abandoned_for(reason: Reason) -> &'static str {
    match reason {
        Reason::Edited => "edited",
        Reason::Shutdown => "shutdown",
        Reason::LockLost => "lock_lost",
        _ => "late",
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
