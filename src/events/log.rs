//! Where a replica reports what happens: every event becomes one line of the log, is counted, and is sent to all listeners.

use std::sync::Arc;

use tokio::sync::broadcast;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use crate::job::{NodeName, Outcome, Reason};
use crate::lease::Pausing;
use crate::store::{Concern, Grade};
use crate::time::millis::millis;

use super::LeaseAwaited;
use super::counter::EventCounter;
use super::event::Event;
use super::marks_ahead::MarksAhead;

/// Listeners that fall this far behind lose the oldest events; the log loses none.
const BACKLOG: usize = 4_096;

/// At most this many names appear in one line.
const LISTED: usize = 20;

/// Logs a warning if the condition holds, or else an info line.
macro_rules! warn_if {
    ($is_bad:expr, $($line:tt)*) => {
        if $is_bad { warn!($($line)*) } else { info!($($line)*) }
    };
}

/// Where a replica reports its events.
#[derive(Debug, Clone)]
pub struct Events {
    node: NodeName,
    listeners: broadcast::Sender<Arc<Event>>,
    counter: Option<Arc<dyn EventCounter>>,
}

impl Events {
    /// Returns the events of this replica, without a listener.
    pub fn of(node: NodeName) -> Self {
        Self { node, listeners: broadcast::channel(BACKLOG).0, counter: None }
    }

    /// Makes `counter` count every event from now on. Unlike a listener, it misses none.
    #[must_use]
    pub fn counted_by(self, counter: Arc<dyn EventCounter>) -> Self {
        Self { counter: Some(counter), ..self }
    }

    /// Returns the replica that reports them.
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// Returns a receiver of every event from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.listeners.subscribe()
    }

    /// Logs the event, counts it, and sends it to the listeners.
    pub fn tell(&self, event: Event) {
        self.log(&event);
        if let Some(counter) = &self.counter {
            counter.count(&event);
        }
        // There may be no listener.
        let _ = self.listeners.send(Arc::new(event));
    }

    fn log(&self, event: &Event) {
        match event {
            Event::RunStarted { .. }
            | Event::AttemptFailed { .. }
            | Event::RunEnded { .. }
            | Event::RunRecorded { .. }
            | Event::RunRecalled { .. }
            | Event::Renewed { .. }
            | Event::RenewalFailed { .. }
            | Event::LockLost { .. }
            | Event::FinishDelayed { .. }
            | Event::FinishGivenUp { .. } => self.log_run(event),
            Event::TickDecided { .. }
            | Event::TickNotRerun { .. }
            | Event::TickConsumed { .. }
            | Event::TickHeld { .. }
            | Event::TickUndecided { .. }
            | Event::ClaimRefused { .. }
            | Event::FormerRunLeft { .. }
            | Event::NewerSchema { .. }
            | Event::OpenFailed { .. }
            | Event::TickDropped { .. }
            | Event::PausingHeard { .. }
            | Event::KillHeard { .. }
            | Event::OperatorActed { .. }
            | Event::ActNotNoted { .. }
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
            Event::TickNotRerun { job, tick, why } => {
                info!(%job, %tick, node, why, "interrupted tick does not run again");
            }
            Event::TickConsumed { job, tick, verdict, at: _ } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                match verdict.outcome {
                    Outcome::Skipped => info!(%job, %tick, node, outcome, reason, "tick skipped"),
                    Outcome::Missed => warn!(%job, %tick, node, outcome, reason, "tick missed"),
                    _ => warn!(%job, %tick, node, outcome, reason, "unknown whether the tick ran"),
                }
            }
            Event::TickHeld { job, tick, holder } => {
                debug!(%job, %tick, node, holder = holder.as_ref().map(display), "tick waits for the lock");
            }
            Event::TickUndecided { job, tick, error } => {
                warn!(%job, %tick, node, error, "tick delayed: the store does not answer");
            }
            Event::ClaimRefused { job, tick, error } => {
                error!(%job, %tick, node, error, "tick delayed: the store refuses the request");
            }
            Event::FormerRunLeft { job, run, why } => {
                warn!(%job, %run, node, why, "run from before the restart may still be running: the job starts again when its lease has ended");
            }
            Event::NewerSchema { job, schema } => {
                error!(%job, node, schema, "record was written by a newer release: upgrade this replica");
            }
            Event::OpenFailed { job, error } => {
                error!(%job, node, error, "job cannot run: its record in the store cannot be opened");
            }
            Event::TickDropped { job, tick } => {
                warn!(%job, %tick, node, "tick that waited does not run: its job was edited");
            }
            Event::PausingHeard { job, said } => {
                let Pausing { until, at: _, by, why } = said;
                let why = why.as_deref();
                match until.filter(|until| *until < Pausing::UNTIL_RESUMED).map(display) {
                    _ if until.is_none() => info!(%job, node, by, "job resumed"),
                    until => info!(%job, node, by, why, until, "job paused: its ticks are skipped"),
                }
            }
            Event::KillHeard { job, run, by } => {
                info!(%job, %run, node, by, "operator stops the run");
            }
            Event::OperatorActed { act, job, by, from, result } => {
                info!(act, %job, node, by, from, result, "operator acted");
            }
            Event::ActNotNoted { act, job, error } => {
                warn!(act, %job, node, error, "act not noted: `solocron acts` does not show it");
            }
            Event::ClaimAbandoned { job, run, reason } => {
                let is_bad = !matches!(reason, Reason::Shutdown | Reason::Edited);
                warn_if!(is_bad, %job, %run, node, %reason, "lock released: the run was not started");
            }
            _ => {}
        }
    }

    fn log_run(&self, event: &Event) {
        let node = display(&self.node);
        match event {
            Event::RunStarted { run: r, late, sent, waited: _ } => {
                let (late_ms, sent_boot_ms) = (millis(*late), millis(sent.0));
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, sent_boot_ms, "lock granted");
                info!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0, cause = %r.cause, late_ms,
                    "run started");
            }
            Event::AttemptFailed { run: r, attempt, verdict, exit_code, signal, error, again_in, .. } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                let (again_in_ms, error) = (millis(*again_in), error.as_deref());
                info!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0, attempt, cause = %r.cause,
                    outcome, reason, exit_code, signal, again_in_ms, error, "attempt failed, trying again");
            }
            Event::RunEnded { run: r, attempt, verdict, exit_code, signal, took, error, .. } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                let (took_ms, error) = (millis(*took), error.as_deref());
                let is_bad = verdict.outcome != Outcome::Succeeded;
                warn_if!(is_bad, job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0, attempt,
                    cause = %r.cause, outcome, reason, exit_code, signal, took_ms, error, "run ended");
            }
            Event::RunRecorded { run: r } => {
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, "run recorded")
            }
            Event::RunRecalled { run: r } => {
                info!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0,
                    "run result recorded, late");
            }
            Event::Renewed { run: r, sent, .. } => {
                let sent_boot_ms = millis(sent.0);
                debug!(job = %r.job, tick = %r.tick, run = %r.run, node, sent_boot_ms, "lock renewed");
            }
            Event::RenewalFailed { run: r, error } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, error, "lock not renewed, trying again");
            }
            Event::LockLost { run: r, why } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0, why,
                    "lock lost: stopping the run");
            }
            Event::FinishDelayed { run: r, error } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, error,
                    "run result not recorded yet, trying again");
            }
            Event::FinishGivenUp { run: r, error } => {
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, error,
                    "run result not recorded: the replica stops");
            }
            _ => {}
        }
    }

    fn log_replica(&self, event: &Event) {
        let node = display(&self.node);
        match event {
            Event::Started { jobs, store } => info!(node, jobs, store, "replica started"),
            Event::StoreReached { store } => info!(node, store, "store reached"),
            Event::StoreLost(error) => {
                error!(node, %error, help = error.help(), "store does not answer: no job starts until it does");
            }
            Event::ClockStepped => warn!(node, "wall clock was stepped: the schedule is computed again"),
            Event::StoreChanged { what } => warn!(node, %what, "store changed"),
            Event::MarksAhead(MarksAhead { jobs, job, mark }) => {
                warn!(node, jobs, %job, %mark, "a clock was ahead: ticks up to the mark \
                    count as done and do not run again; `solocron unlock --mark` lets them run");
            }
            Event::LeaseAwaited(LeaseAwaited { job, lease, frees_in }) => {
                let (lease_ms, frees_in_ms) = (millis(*lease), millis(*frees_in));
                warn!(node, %job, lease_ms, frees_in_ms, "job waits: the store lost a lock with a longer lease, and its holder \
                    may still run; `solocron unlock` ends the wait");
            }
            Event::ClaimsUnsynced { count } => {
                warn!(
                    node,
                    count,
                    "requests took more than a second to reach the store, and are sent \
                    again: the network is slow, or a clock was stepped"
                );
            }
            Event::ClockDiffers { ahead_ms } => {
                warn!(node, ahead_ms, "wall clock differs from the store's: check NTP on both machines");
            }
            Event::ClockAgrees => info!(node, "wall clock agrees with the store's again"),
            Event::StoreConcern(concern) => self.log_concern(concern),
            Event::Peer(event) => event.log(&self.node),
            Event::FilesDiffer { file, others } => {
                warn!(
                    node,
                    file, others, "replicas have different jobs files: copy the right one to all of them"
                );
            }
            Event::FilesAgree { file } => info!(node, file, "replicas have the same jobs file again"),
            Event::Reloaded { file, changes } => {
                let [added, changed, removed] = changes.listed();
                info!(node, file, added, changed, removed, "jobs file loaded again");
            }
            Event::NoReplicaFits { labels, jobs } => {
                let (labels, jobs) = (listed(labels), listed(jobs));
                warn!(node, labels, jobs, "no live replica has the labels of these jobs: they do not run");
            }
            Event::Draining { running, limit } => {
                info!(node, running, limit_s = limit.as_secs(), "draining: taking no new ticks");
            }
            Event::Stopping { running } => info!(node, running, "stopping the runs that are left"),
            Event::LeftBehind(running) => {
                error!(
                    node,
                    running,
                    "exiting with processes that cannot be killed: their locks expire after one lease"
                );
            }
            Event::Stopped => info!(node, "replica stopped"),
            _ => {}
        }
    }

    fn log_concern(&self, concern: &Concern) {
        let node = display(&self.node);
        let Concern { grade, what, value, help } = concern;
        let help = help.as_deref();
        match grade {
            Grade::Error => error!(node, what, value, help, "store settings keep jobs from running"),
            Grade::Warning => warn!(node, what, value, help, "store is set up unsafely"),
            Grade::Unchecked | Grade::Note => debug!(node, what, value, help, "store inspected"),
        }
    }
}

/// `a b c and 7 more`
pub(crate) fn listed(names: &[impl ToString]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(ToString::to_string).collect();
    let more = names.len() - shown.len();
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}
