//! Slots of which one client takes only some: a client that has gone wild leaves the others to the rest.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots.
#[derive(Debug)]
pub(crate) struct ClientSlots<C> {
    all: Arc<Semaphore>,
    most: usize,
    of_client: usize,
    /// How many each client has taken. Clients without one are not listed.
    taken: Arc<Mutex<HashMap<C, usize>>>,
}

/// The slot of one client, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ClientSlot<C: Eq + Hash> {
    taken: Arc<Mutex<HashMap<C, usize>>>,
    client: C,
    _permit: OwnedSemaphorePermit,
}

/// Why there is no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// All are taken.
    AllTaken,
    /// The client has taken as many as it may.
    ClientHasMost,
}

impl<C: Eq + Hash + Clone> ClientSlots<C> {
    /// Returns so many slots, of which one client may take so many.
    pub(crate) fn new(most: usize, of_client: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), most, of_client, taken: Arc::default() }
    }

    /// Takes a slot for this client.
    ///
    /// # Errors
    /// If all are taken, or all that one client may have.
    pub(crate) fn take(&self, client: C) -> Result<ClientSlot<C>, NoSlot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.get(&client).copied().unwrap_or_default();
        if count >= self.of_client {
            return Err(NoSlot::ClientHasMost);
        }
        let permit = Arc::clone(&self.all).try_acquire_owned().map_err(|_| NoSlot::AllTaken)?;
        taken.insert(client.clone(), count + 1);
        Ok(ClientSlot { taken: Arc::clone(&self.taken), client, _permit: permit })
    }

    /// Waits until all are free.
    pub(crate) async fn all_free(&self) {
        // Nobody closes the slots.
        let _ = self.all.acquire_many(self.most as u32).await;
    }

    /// Returns how many clients are listed.
    #[cfg(test)]
    pub(crate) fn clients(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl<C: Eq + Hash> Drop for ClientSlot<C> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.client);
            }
        }
    }
}
