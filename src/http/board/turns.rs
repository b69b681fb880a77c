//! Turns to read the store: one read at a time, and at most 20 a second, so that viewers take little of the store's time. A
//! page that nobody looked at before is read without a pause, as it needs fewer reads than that.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::store::Store;
use crate::time::{BootInstant, Clock};

/// At most so many reads begin within this time.
const MOST: (usize, Duration) = (10, Duration::from_millis(500));

/// The store, and whose turn it is.
#[derive(Debug)]
pub(super) struct StoreTurns {
    store: OnceLock<Arc<dyn Store>>,
    /// When the last reads began, the oldest first.
    begun: Mutex<VecDeque<BootInstant>>,
    clock: Arc<dyn Clock>,
}

/// A turn to read the store. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct StoreTurn<'t> {
    store: &'t Arc<dyn Store>,
    _turn: MutexGuard<'t, VecDeque<BootInstant>>,
}

impl StoreTurns {
    /// Returns the turns of a store that is not open yet.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { store: OnceLock::new(), begun: Mutex::default(), clock }
    }

    /// Sets the store, once.
    pub(super) fn open(&self, store: Arc<dyn Store>) {
        // A second one is not used.
        let _ = self.store.set(store);
    }

    /// Returns the store, for what is no read; `None` if it could not be opened.
    pub(super) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.get()
    }

    /// Waits for a turn; `None` if the store could not be opened.
    pub(super) async fn take(&self) -> Option<StoreTurn<'_>> {
        let store = self.store.get()?;
        let mut begun = self.begun.lock().await;
        sleep(wait(&begun, self.clock.boot())).await;
        begun.push_back(self.clock.boot());
        if begun.len() > MOST.0 {
            begun.pop_front();
        }
        Some(StoreTurn { store, _turn: begun })
    }
}

/// Returns how long the next read has to wait after those that began at these instants.
fn wait(begun: &VecDeque<BootInstant>, now: BootInstant) -> Duration {
    let (most, within) = MOST;
    let oldest = begun.len().checked_sub(most).and_then(|at| begun.get(at));
    oldest.map_or(Duration::ZERO, |oldest| within.saturating_sub(now.since(*oldest)))
}

impl Deref for StoreTurn<'_> {
    type Target = dyn Store;

    fn deref(&self) -> &(dyn Store + 'static) {
        &**self.store
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> BootInstant {
        BootInstant(Duration::from_millis(millis))
    }

    #[test]
    fn ten_reads_begin_at_once_and_the_next_waits_until_half_a_second_has_passed() {
        let begun =
            |count: u64| -> VecDeque<BootInstant> { (0..count).map(|read| at(1_000 + read)).collect() };
        assert_eq!(wait(&VecDeque::new(), at(1_000)), Duration::ZERO);
        assert_eq!(wait(&begun(9), at(1_010)), Duration::ZERO);
        assert_eq!(wait(&begun(10), at(1_010)), Duration::from_millis(490));
        assert_eq!(wait(&begun(10), at(1_500)), Duration::ZERO);
        assert_eq!(wait(&begun(10), at(9_000)), Duration::ZERO);
    }
}
