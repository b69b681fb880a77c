//! Turns to read the store: one read at a time, and at most 20 a second, so that viewers take little of the store's time.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::store::Store;
use crate::time::{BootInstant, Clock};

/// The least time between the beginnings of two reads.
const BETWEEN_READS: Duration = Duration::from_millis(50);

/// The store, and whose turn it is.
#[derive(Debug)]
pub(super) struct StoreTurns {
    store: OnceLock<Arc<dyn Store>>,
    /// When the last read began.
    last: Mutex<Option<BootInstant>>,
    clock: Arc<dyn Clock>,
}

/// A turn to read the store. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct StoreTurn<'t> {
    store: &'t Arc<dyn Store>,
    _turn: MutexGuard<'t, Option<BootInstant>>,
}

impl StoreTurns {
    /// Returns the turns of a store that is not open yet.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { store: OnceLock::new(), last: Mutex::new(None), clock }
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
        let mut last = self.last.lock().await;
        if let Some(last) = *last {
            sleep(BETWEEN_READS.saturating_sub(self.clock.boot().since(last))).await;
        }
        *last = Some(self.clock.boot());
        Some(StoreTurn { store, _turn: last })
    }
}

impl Deref for StoreTurn<'_> {
    type Target = dyn Store;

    fn deref(&self) -> &(dyn Store + 'static) {
        &**self.store
    }
}
