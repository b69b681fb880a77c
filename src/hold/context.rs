//! What all parts of a replica or an `exec` share: its store, clocks and logs, and what it remembers of them.

use std::sync::Arc;

use crate::events::log::Events;
use crate::job::NodeName;
use crate::lease::Caller;
use crate::run::{Guards, JobOutput, RunLogs};
use crate::store::Store;
use crate::store::clock::Known;
use crate::store::clock::shared::SharedStoreClock;
use crate::time::{Clock, Now, UtcMillis};

use super::lease_file::LeaseFile;
use super::pacing::finish_window::FinishWindow;
use super::pacing::start_latency::StartLatency;
use super::pacing::start_priority::StartPriority;

/// Shared by the loop, its errands and the holders.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) node: NodeName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) guards: Arc<Guards>,
    pub(crate) logs: RunLogs,
    pub(crate) lease_file: LeaseFile,
    pub(crate) output: JobOutput,
    pub(crate) events: Events,
    pub(crate) traffic: Traffic,
    pub(crate) store_clock: SharedStoreClock,
}

/// Pacing of runs that start or end at the same time, and how long each stage of all starts took.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) start_priority: StartPriority,
    pub(crate) finish_window: FinishWindow,
    pub(crate) start_latency: StartLatency,
}

impl Context {
    /// Returns the time by which ticks are due; see [`SharedStoreClock::due_time`].
    pub(crate) fn now(&self) -> UtcMillis {
        self.store_clock.due_time(Now::read(&*self.clock))
    }

    /// Returns what the store's clock should show; see [`SharedStoreClock::store_time`].
    pub(crate) fn store_time(&self) -> UtcMillis {
        self.store_clock.store_time(Now::read(&*self.clock))
    }

    /// Returns what this process sends about itself in a request on a job; `None` until the store has answered for the
    /// first time.
    pub(crate) fn caller(&self, known: Known) -> Option<Caller> {
        self.store_clock.caller(&self.node, self.clock.boot(), known)
    }
}
