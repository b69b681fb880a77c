//! Where a replica tells what happens: every event becomes one line of the log, and reaches whoever listens.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use crate::job::NodeName;

use super::event::Event;

/// Listeners that fall this far behind lose the oldest events; the log loses none.
const BACKLOG: usize = 4_096;

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
            | Event::OpenFailed { .. }
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
            Event::OpenFailed { job, error } => {
                error!(%job, node, error, "job cannot run: its record in the store cannot be opened");
            }
            Event::ClaimAbandoned { job, run } => {
                warn!(%job, %run, node, "claim is given back: its answer did not come in time, and nothing was started");
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
