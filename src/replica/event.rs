//! Everything that can happen to a tick and to a replica, in one type: it feeds the log, and whoever listens.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use crate::job::{Cause, Fence, JobName, NodeName, RunId, Tick, Verdict};

/// Listeners that fall this far behind lose the oldest events; the log loses none.
const BACKLOG: usize = 4_096;

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

/// Where a replica tells what happens.
#[derive(Debug, Clone)]
pub struct Events {
    node: NodeName,
    listeners: broadcast::Sender<Arc<Event>>,
}

impl Events {
    /// Events of this replica.
    pub fn of(node: NodeName) -> Self {
        Self { node, listeners: broadcast::channel(BACKLOG).0 }
    }

    /// Hears every event from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.listeners.subscribe()
    }

    /// Logs the event and tells the listeners.
    pub fn tell(&self, event: Event) {
        self.log(&event);
        // Nobody need be listening.
        let _ = self.listeners.send(Arc::new(event));
    }

    fn log(&self, event: &Event) {
        match event {
            Event::RunStarted { .. }
            | Event::RunEnded { .. }
            | Event::RunRecorded { .. }
            | Event::Renewed { .. }
            | Event::RenewalFailed { .. }
            | Event::LockLost { .. }
            | Event::FinishDelayed { .. } => self.log_run(event),
            Event::TickDecided { .. }
            | Event::TickConsumed { .. }
            | Event::TickHeld { .. }
            | Event::TickUndecided { .. }
            | Event::NewerSchema { .. }
            | Event::ClaimAbandoned { .. } => self.log_tick(event),
            _ => self.log_replica(event),
        }
    }

    fn log_tick(&self, event: &Event) {
        let node = display(&self.node);
        match event {
            Event::TickDecided { job, tick, holder, how } => {
                let (outcome, reason) =
                    (how.map(|v| display(v.outcome)), how.and_then(|v| v.reason).map(display));
                let holder = holder.as_ref().map(display);
                debug!(%job, %tick, node, outcome, reason, holder, "tick decided elsewhere");
            }
            Event::TickConsumed { job, tick, verdict } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                info!(%job, %tick, node, outcome, reason, "tick does not run");
            }
            Event::TickHeld { job, tick, holder } => {
                debug!(%job, %tick, node, holder = holder.as_ref().map(display), "tick waits for the lock");
            }
            Event::TickUndecided { job, tick, error } => {
                warn!(%job, %tick, node, error, "tick waits, because the store does not answer");
            }
            Event::NewerSchema { job, schema } => {
                error!(%job, node, schema, "record was written by a newer release: upgrade this replica");
            }
            Event::ClaimAbandoned { job, run } => {
                warn!(%job, %run, node, "claim was answered too late: given back, nothing was started");
            }
            _ => {}
        }
    }

    fn log_run(&self, event: &Event) {
        let node = display(&self.node);
        match event {
            Event::RunStarted { run: r, late } => {
                let late_ms = millis(*late);
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = %r.fence, cause = %r.cause, late_ms,
                    "run started");
            }
            Event::RunEnded { run: r, attempt, verdict, exit_code, signal, took, error } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                let (took_ms, error) = (millis(*took), error.as_deref());
                info!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = %r.fence, attempt, cause = %r.cause,
                    outcome, reason, exit_code, signal, took_ms, error, "run ended");
            }
            Event::RunRecorded { run: r } => {
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, "run recorded")
            }
            Event::Renewed { run: r } => {
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, "lock renewed")
            }
            Event::RenewalFailed { run: r, error } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, error, "lock not renewed, trying again");
            }
            Event::LockLost { run: r, why } => {
                error!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = %r.fence, why,
                    "lock lost: stopping the run");
            }
            Event::FinishDelayed { run: r, error } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, error,
                    "end of the run not recorded yet, trying again");
            }
            _ => {}
        }
    }

    fn log_replica(&self, event: &Event) {
        let node = display(&self.node);
        match event {
            Event::Started { jobs, store } => info!(node, jobs, store, "replica started"),
            Event::StoreReached { store } => info!(node, store, "store reached"),
            Event::StoreLost { error } => {
                error!(node, error, "store does not answer: no job starts until it does");
            }
            Event::ClockStepped => warn!(node, "wall clock was stepped: planning anew"),
            Event::StoreChanged { what } => warn!(node, what, "store changed"),
            Event::NameTaken => {
                error!(node, "another replica has the same name: give each its own with --node");
            }
            Event::TooFewReplicas { live, expected } => {
                warn!(node, live, expected, "fewer replicas are up than expected");
            }
            Event::Draining { running, limit } => {
                info!(node, running, limit_s = limit.as_secs(), "draining: taking no new ticks");
            }
            Event::Stopping { running } => info!(node, running, "stopping what still runs"),
            Event::Stopped => info!(node, "replica stopped"),
            _ => {}
        }
    }
}

fn millis(of: Duration) -> u64 {
    u64::try_from(of.as_millis()).unwrap_or(u64::MAX)
}
