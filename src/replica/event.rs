//! Everything that can happen to a tick and to a replica, in one type.

use std::time::Duration;

use crate::job::{Cause, Fence, JobName, NodeName, RunId, Tick, Verdict};

/// A run, as every line about it names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRef {
    /// The job.
    pub job: JobName,
    /// Its tick.
    pub tick: Tick,
    /// The run.
    pub run: RunId,
    /// Its fencing token.
    pub fence: Fence,
    /// Why it was started.
    pub cause: Cause,
}

/// Something that happened on a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The replica takes part.
    Started {
        /// How many jobs it schedules.
        jobs: usize,
        /// The store for people.
        store: String,
    },
    /// The store answers, for the first time or again.
    StoreReached {
        /// The store for people.
        store: String,
    },
    /// The store does not answer any more.
    StoreLost {
        /// Why.
        error: String,
    },
    /// A tick was decided by another replica, or earlier.
    TickDecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The replica that has or had its run.
        holder: Option<NodeName>,
        /// How it ended.
        how: Option<Verdict>,
    },
    /// This replica decided that a tick does not run.
    TickConsumed {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why.
        verdict: Verdict,
    },
    /// A tick waits for the lock's holder.
    TickHeld {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The holder.
        holder: Option<NodeName>,
    },
    /// A tick waits because the store did not answer its claim.
    TickUndecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why.
        error: String,
    },
    /// A job's record was written by a newer release.
    NewerSchema {
        /// The job.
        job: JobName,
        /// The record's schema.
        schema: u32,
    },
    /// A job's record cannot be opened; it is tried again and again.
    OpenFailed {
        /// The job.
        job: JobName,
        /// Why.
        error: String,
    },
    /// A run begins.
    RunStarted {
        /// The run.
        run: RunRef,
        /// How long after the tick's instant, by this replica's clock.
        late: Duration,
    },
    /// A claim was won too late to start anything, and given back.
    ClaimAbandoned {
        /// The job.
        job: JobName,
        /// The run that was not started.
        run: RunId,
    },
    /// A run has ended, and nothing of it is left.
    RunEnded {
        /// The run.
        run: RunRef,
        /// The last attempt, from 1.
        attempt: u32,
        /// How it ended.
        verdict: Verdict,
        /// The exit code, if the command exited.
        exit_code: Option<i32>,
        /// The signal, if one ended the command.
        signal: Option<i32>,
        /// How long it took.
        took: Duration,
        /// Why it could not be started.
        error: Option<String>,
    },
    /// The end of a run is recorded in the store.
    RunRecorded {
        /// The run.
        run: RunRef,
    },
    /// A lock was renewed.
    Renewed {
        /// The run.
        run: RunRef,
    },
    /// A lock could not be renewed; it will be tried again.
    RenewalFailed {
        /// The run.
        run: RunRef,
        /// Why.
        error: String,
    },
    /// The lock is not provably this run's any more: the run is stopped.
    LockLost {
        /// The run.
        run: RunRef,
        /// How that showed.
        why: &'static str,
    },
    /// The end of a run could not be recorded yet; it will be tried again.
    FinishDelayed {
        /// The run.
        run: RunRef,
        /// Why.
        error: String,
    },
    /// The wall clock was stepped: everything is planned anew.
    ClockStepped,
    /// The store's clock was stepped, or it lives another life, or it forgot.
    StoreChanged {
        /// What showed.
        what: &'static str,
    },
    /// Another replica goes by this replica's name.
    NameTaken,
    /// Fewer replicas are up than the file expects.
    TooFewReplicas {
        /// How many are up.
        live: usize,
        /// How many there should be.
        expected: u32,
    },
    /// No new ticks are taken; runs may finish.
    Draining {
        /// Runs that are going on.
        running: usize,
        /// They are stopped after this long.
        limit: Duration,
    },
    /// Runs are stopped.
    Stopping {
        /// Runs that are going on.
        running: usize,
    },
    /// Nothing is left to do.
    Stopped,
}
