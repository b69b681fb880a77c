//! What all parts of a replica or an `exec` share: its store, clocks and logs, and what it remembers of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::events::log::Events;
use crate::job::{Fence, NodeName};
use crate::lease::{Answer, Caller, Era, Reply};
use crate::run::{Guards, JobOutput, RunLogs};
use crate::store::Store;
use crate::store::clock::{Known, StoreClock};
use crate::time::{Clock, UtcMillis};

use super::lease_file::LeaseFile;
use super::pacing::finish_window::FinishWindow;
use super::pacing::start_latency::StartLatency;
use super::pacing::start_priority::StartPriority;

/// A wall clock that is ahead of the store's by no more than this is used as it is. Half of what the store tolerates.
const AHEAD_TOLERANCE: Duration = Duration::from_millis(100);

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
    pub(crate) store_clock: Mutex<Option<StoreClock>>,
}

/// Pacing of runs that start or end at the same time, and how long each stage of all starts took.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) start_priority: StartPriority,
    pub(crate) finish_window: FinishWindow,
    pub(crate) start_latency: StartLatency,
}

impl Context {
    /// Returns the time by which ticks are due: the wall clock's, or the store's if the wall clock is ahead of it by
    /// more than [`AHEAD_TOLERANCE`]. So no clock starts a tick earlier than that, and a replica whose clock is ahead
    /// still takes part.
    pub(crate) fn now(&self) -> UtcMillis {
        due_by(self.clock.utc(), self.store_time())
    }

    /// Returns what the store's clock should show; the wall clock's time until the store has answered for the first
    /// time.
    pub(crate) fn store_time(&self) -> UtcMillis {
        let shown = self.read_store_clock(|store_clock| store_clock.store_time(self.clock.boot()));
        shown.unwrap_or_else(|| self.clock.utc())
    }

    /// Locks the store's clock as this replica knows it; `None` until the store has answered for the first time.
    pub(crate) fn store_clock(&self) -> MutexGuard<'_, Option<StoreClock>> {
        self.store_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what `read` finds in the store's clock as this replica knows it; `None` until the store has answered for the
    /// first time.
    pub(crate) fn read_store_clock<T>(&self, read: impl FnOnce(&StoreClock) -> T) -> Option<T> {
        self.store_clock().as_ref().map(read)
    }

    /// Updates the store's clock as this replica knows it. Does nothing until the store has answered for the first time.
    fn update_store_clock(&self, update: impl FnOnce(&mut StoreClock)) {
        if let Some(store_clock) = self.store_clock().as_mut() {
            update(store_clock);
        }
    }

    /// Returns the store time from which the store's clock leapt ahead, as far as this replica has seen.
    pub(crate) fn leapt(&self) -> Option<UtcMillis> {
        self.read_store_clock(StoreClock::leapt).flatten()
    }

    /// Records the store time of a reply that decided something in the era that this replica knows, and the fencing
    /// token of a grant. `new_era` and `unsynced` do not count: they may come from another era.
    pub(crate) fn hear(&self, reply: &Reply) {
        let is_of_this_era = !matches!(reply.answer, Answer::NewEra(_) | Answer::Unsynced);
        if !is_of_this_era {
            return;
        }
        self.update_store_clock(|store_clock| {
            store_clock.hear(reply.now);
            if let Answer::Won { fence, .. } = reply.answer {
                store_clock.record_fence(fence);
            }
        });
    }

    /// Records a store time that this replica has computed itself, as `hear` does with that of a reply.
    pub(crate) fn record_store_time(&self, store_now: UtcMillis) {
        self.update_store_clock(|store_clock| store_clock.hear(store_now));
    }

    /// Records that this fencing token was given out. Does nothing until the store has answered for the first time.
    pub(crate) fn record_fence(&self, fence: Fence) {
        self.update_store_clock(|store_clock| store_clock.record_fence(fence));
    }

    /// Whether the store is in this era, as far as the replica knows.
    pub(crate) fn is_in(&self, era: &Era) -> bool {
        self.read_store_clock(|store_clock| store_clock.era() == era).unwrap_or_default()
    }

    /// Returns what the replica sends about itself in a request on a job; `None` until the store has answered for the
    /// first time.
    pub(crate) fn caller(&self, known: Known) -> Option<Caller> {
        self.read_store_clock(|store_clock| store_clock.caller(&self.node, self.clock.boot(), known))
    }

    /// Returns the store's current era; the empty one until the store has answered for the first time.
    pub(crate) fn era(&self) -> Era {
        self.read_store_clock(|store_clock| store_clock.era().clone()).unwrap_or_default()
    }
}

/// Returns the time by which ticks are due, from the wall clock's time and the store's.
pub(crate) fn due_by(wall: UtcMillis, store: UtcMillis) -> UtcMillis {
    Some(store).filter(|store| wall.since(*store) > AHEAD_TOLERANCE).unwrap_or(wall)
}
