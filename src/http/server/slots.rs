//! The slots for connections. When all are taken, the oldest connection that waits for a request is closed, so that
//! clients that send nothing cannot lock out a probe.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The most connections at once.
const MOST: usize = 64;

/// The slots for connections.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionSlots(Arc<Mutex<SlotTable>>);

#[derive(Debug, Default)]
struct SlotTable {
    next: u64,
    /// The connections, oldest first.
    connections: BTreeMap<u64, TakenSlot>,
}

#[derive(Debug)]
struct TakenSlot {
    /// Cancelled to close the connection.
    close: CancellationToken,
    /// How many requests of the connection are being answered.
    answering: u32,
}

/// The slot of one connection, free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: ConnectionSlots,
    number: u64,
    /// Cancelled when the connection has to make room.
    pub(super) close: CancellationToken,
}

/// A request that is being answered; the connection waits for the next one when this is dropped.
#[derive(Debug)]
pub(super) struct Answering {
    slots: ConnectionSlots,
    number: u64,
}

impl ConnectionSlots {
    /// Takes a slot; `None` if all are taken by connections whose requests are being answered.
    pub(super) fn take(&self) -> Option<ConnectionSlot> {
        let mut taken = self.lock();
        if taken.connections.len() >= MOST {
            let waiting = taken.connections.iter().find(|(_, slot)| slot.answering == 0);
            let number = waiting.map(|(number, _)| *number)?;
            if let Some(slot) = taken.connections.remove(&number) {
                slot.close.cancel();
            }
        }
        let (number, close) = (taken.next, CancellationToken::new());
        taken.next += 1;
        taken.connections.insert(number, TakenSlot { close: close.clone(), answering: 0 });
        drop(taken);
        Some(ConnectionSlot { slots: self.clone(), number, close })
    }

    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut TakenSlot)) {
        if let Some(slot) = self.lock().connections.get_mut(&number) {
            change(slot);
        }
    }
}

impl ConnectionSlot {
    /// Notes that a request of the connection is being answered.
    pub(super) fn answering(&self) -> Answering {
        self.slots.change(self.number, |slot| slot.answering += 1);
        Answering { slots: self.slots.clone(), number: self.number }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock().connections.remove(&self.number);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.slots.change(self.number, |slot| slot.answering = slot.answering.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_connection_takes_the_place_of_the_oldest_that_waits_for_a_request() {
        let slots = ConnectionSlots::default();
        let taken: Vec<_> = (0..MOST).map(|_| slots.take().expect("a free slot")).collect();
        let answering = taken[0].answering();
        let further = slots.take().expect("the second made room");
        let is_closed: Vec<bool> = taken.iter().map(|slot| slot.close.is_cancelled()).collect();
        assert_eq!(is_closed.iter().position(|closed| *closed), Some(1));
        assert_eq!(is_closed.iter().filter(|closed| **closed).count(), 1);
        drop((answering, further));
        assert_eq!(slots.lock().connections.len(), MOST - 1);
    }

    #[test]
    fn connections_whose_requests_are_being_answered_keep_their_slots() {
        let slots = ConnectionSlots::default();
        let taken: Vec<_> = (0..MOST).map(|_| slots.take().expect("a free slot")).collect();
        let answering: Vec<_> = taken.iter().map(ConnectionSlot::answering).collect();
        assert!(slots.take().is_none());
        drop(answering);
        assert!(slots.take().is_some());
    }
}
