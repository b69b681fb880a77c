//! Events about other replicas, as this replica sees them.

use std::time::Duration;

use tracing::field::display;
use tracing::{info, warn};

use crate::job::{JobName, NodeName, Verdict};
use crate::time::UtcMillis;
use crate::time::millis::millis;

use super::log::listed;
use super::run_ref::Run;

/// An event about other replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// Another replica uses this replica's name.
    NameTaken,
    /// Fewer replicas are up than the file expects.
    TooFew {
        /// How many are up.
        live: usize,
        /// How many there should be.
        expected: u32,
    },
    /// A replica sends no heartbeats any more. Only one of the survivors reports it.
    Down {
        /// The replica.
        peer: NodeName,
        /// How long ago its last heartbeat was.
        silent: Duration,
        /// The jobs that it was running then.
        jobs: Vec<JobName>,
    },
    /// A replica that was down sends heartbeats again.
    Back {
        /// The replica.
        peer: NodeName,
    },
    /// The run of a replica that is down is recorded as interrupted. Only one of the survivors reports it.
    RunInterrupted {
        /// The run.
        run: Run,
        /// The replica.
        peer: NodeName,
        /// How it ended.
        verdict: Verdict,
        /// From its start to its last sign of life.
        took: Duration,
        /// Its last sign of life, by the store's clock.
        at: UtcMillis,
    },
}

impl PeerEvent {
    /// Logs the event. `node` is this replica.
    pub(crate) fn log(&self, node: &NodeName) {
        let node = display(node);
        match self {
            Self::NameTaken => {
                warn!(node, "another replica has the same name: give each its own with --node");
            }
            Self::TooFew { live, expected } => {
                warn!(node, live, expected, "fewer replicas are up than expected");
            }
            Self::Down { peer, silent, jobs } => {
                let (silent_ms, running) = (millis(*silent), listed(jobs));
                warn!(node, %peer, silent_ms, running, "replica is down: no heartbeat");
            }
            Self::Back { peer } => info!(node, %peer, "replica is back"),
            Self::RunInterrupted { run: r, peer, verdict, took, at: _ } => {
                let (outcome, reason) = (display(verdict.outcome), verdict.reason.map(display));
                let took_ms = millis(*took);
                warn!(job = %r.job, tick = %r.tick, run = %r.run, node, fence = r.fence.0, cause = %r.cause, outcome,
                    reason, holder = %peer, took_ms, "run interrupted: its replica was lost");
            }
        }
    }
}
