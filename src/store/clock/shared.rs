//! The store's clock as this process knows it, shared by all its parts. Reads no clock: the callers pass the time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::job::{Fence, NodeName};
use crate::lease::{Answer, Caller, Era, Reply};
use crate::time::{BootInstant, Now, UtcMillis};

use super::{Known, StoreClock};

/// A wall clock that is ahead of the store's by no more than this is used as it is. Half of what the store tolerates.
const AHEAD_TOLERANCE: Duration = Duration::from_millis(100);

/// The store's clock, era and largest fencing token as this process knows them; nothing until the store has answered
/// for the first time. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedStoreClock(Arc<Mutex<Option<StoreClock>>>);

impl SharedStoreClock {
    /// Locks it, to change it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<StoreClock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what `read` finds; `None` until the store has answered for the first time.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&StoreClock) -> T) -> Option<T> {
        self.lock().as_ref().map(read)
    }

    /// Does nothing until the store has answered for the first time.
    fn update(&self, update: impl FnOnce(&mut StoreClock)) {
        if let Some(store_clock) = self.lock().as_mut() {
            update(store_clock);
        }
    }

    /// Returns the time by which ticks are due: the wall clock's, or the store's if the wall clock is ahead of it by
    /// more than [`AHEAD_TOLERANCE`]. So no clock starts a tick earlier than that, and a replica whose clock is ahead
    /// still takes part.
    pub(crate) fn due_time(&self, now: Now) -> UtcMillis {
        // Read after the wall clock: a process that was held up in between takes no tick for due too early.
        let store_time = self.read(|store_clock| store_clock.store_time(now.boot_after));
        store_time.map_or(now.wall, |store_time| due_by(now.wall, store_time))
    }

    /// Returns what the store's clock should show; the wall clock's time until the store has answered for the first
    /// time.
    pub(crate) fn store_time(&self, now: Now) -> UtcMillis {
        self.read(|store_clock| store_clock.store_time(now.boot)).unwrap_or(now.wall)
    }

    /// Returns the store time from which the store's clock leapt ahead, as far as this process has seen.
    pub(crate) fn leapt(&self) -> Option<UtcMillis> {
        self.read(StoreClock::leapt).flatten()
    }

    /// Records the store time of a reply that decided something in the known era, and the fencing token of a grant.
    /// `new_era` and `unsynced` do not count: they may come from another era.
    pub(crate) fn hear(&self, reply: &Reply) {
        let is_of_this_era = !matches!(reply.answer, Answer::NewEra(_) | Answer::Unsynced);
        if !is_of_this_era {
            return;
        }
        self.update(|store_clock| {
            store_clock.hear(reply.now);
            if let Answer::Won { fence, .. } = reply.answer {
                store_clock.record_fence(fence);
            }
        });
    }

    /// Records a store time that did not come with a reply, as `hear` does with the time of a reply.
    pub(crate) fn record_store_time(&self, shown: UtcMillis) {
        self.update(|store_clock| store_clock.hear(shown));
    }

    /// Records that this fencing token was given out.
    pub(crate) fn record_fence(&self, fence: Fence) {
        self.update(|store_clock| store_clock.record_fence(fence));
    }

    /// Whether the store is in this era, as far as is known.
    pub(crate) fn is_in(&self, era: &Era) -> bool {
        self.read(|store_clock| store_clock.era() == era).unwrap_or_default()
    }

    /// Returns what the caller `node` sends about itself in a request on a job; `None` until the store has answered
    /// for the first time.
    pub(crate) fn caller(&self, node: &NodeName, now: BootInstant, known: Known) -> Option<Caller> {
        self.read(|store_clock| store_clock.caller(node, now, known))
    }

    /// Returns the store's current era; the empty one until the store has answered for the first time.
    pub(crate) fn era(&self) -> Era {
        self.read(|store_clock| store_clock.era().clone()).unwrap_or_default()
    }
}

/// Returns the time by which ticks are due, from the wall clock's time and the store's.
pub(crate) fn due_by(wall: UtcMillis, store: UtcMillis) -> UtcMillis {
    Some(store).filter(|store| wall.since(*store) > AHEAD_TOLERANCE).unwrap_or(wall)
}
