//! What every part of a replica shares: its store, its clocks, its logs, and what it remembers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

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

/// A wall clock ahead of the store's by less than this is taken as it is: half of what the store tolerates.
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
    pub(crate) store_clock: watch::Sender<Option<StoreClock>>,
}

/// Runs that start and end at the same time: who waits for whom, and how long each stage of all starts took.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) start_priority: StartPriority,
    pub(crate) finish_window: FinishWindow,
    pub(crate) stages: StartLatency,
}

impl Context {
    /// The instant by which ticks are due: the wall clock's, held back to the store's where the wall clock is ahead.
    /// A tick so starts when neither clock finds it early, and a clock that is ahead keeps nobody from taking part.
    pub(crate) fn now(&self) -> UtcMillis {
        due_by(self.clock.utc(), self.store_time())
    }

    /// What the store's clock should show; the wall clock's time while nobody has heard from the store.
    pub(crate) fn store_time(&self) -> UtcMillis {
        let store_clock = self.store_clock.borrow();
        store_clock
            .as_ref()
            .map_or_else(|| self.clock.utc(), |store_clock| store_clock.store_time(self.clock.boot()))
    }

    /// The store's time from which its clock leapt ahead, as far as this replica saw.
    pub(crate) fn leapt(&self) -> Option<UtcMillis> {
        self.store_clock.borrow().as_ref().and_then(StoreClock::leapt)
    }

    /// Remembers until when the store has decided something in the life that this replica knows.
    pub(crate) fn hear(&self, reply: &Reply) {
        let is_of_this_life = !matches!(reply.answer, Answer::NewEra(_) | Answer::Unsynced);
        self.store_clock.send_if_modified(|store_clock| {
            if let Some(store_clock) = store_clock.as_mut().filter(|_| is_of_this_life) {
                store_clock.hear(reply.now);
                if let Answer::Won { fence, .. } = reply.answer {
                    store_clock.hear_fence(fence);
                }
            }
            // Nobody need be told.
            false
        });
    }

    /// The same of this time, by this replica's own reckoning.
    pub(crate) fn hear_at(&self, store_now: UtcMillis) {
        self.store_clock.send_if_modified(|store_clock| {
            store_clock.iter_mut().for_each(|store_clock| store_clock.hear(store_now));
            false
        });
    }

    /// Remembers that this fencing token was given out, once anything was heard from the store.
    pub(crate) fn hear_fence(&self, fence: Fence) {
        self.store_clock.send_if_modified(|store_clock| {
            store_clock.iter_mut().for_each(|store_clock| store_clock.hear_fence(fence));
            false
        });
    }

    /// Whether it is the store's present life, as far as that is known.
    pub(crate) fn is_in(&self, era: &Era) -> bool {
        self.store_clock.borrow().as_ref().is_some_and(|store_clock| store_clock.era() == era)
    }

    /// What the store is told of this replica in a request about a job; `None` until the store was heard.
    pub(crate) fn caller(&self, known: Known) -> Option<Caller> {
        let store_clock = self.store_clock.borrow();
        store_clock.as_ref().map(|store_clock| store_clock.caller(&self.node, self.clock.boot(), known))
    }

    /// The store's present life, as far as it is known.
    pub(crate) fn era(&self) -> Era {
        self.store_clock.borrow().as_ref().map(|store_clock| store_clock.era().clone()).unwrap_or_default()
    }
}

/// The instant by which ticks are due, from the wall clock's time and the store's.
pub(crate) fn due_by(wall: UtcMillis, store: UtcMillis) -> UtcMillis {
    Some(store).filter(|store| wall.since(*store) > AHEAD_TOLERANCE).unwrap_or(wall)
}
