//! The slots for connections. When all are taken, the oldest connection that waits for a request, or for the rest of one, is
//! closed, so that clients that send nothing cannot lock out others. A few more slots take probes alone: whatever clients
//! do, a supervisor hears that the replica lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The most connections at once.
const MOST: usize = 64;

/// The most connections beyond these, which are answered only if they ask how the replica is.
const SPARE: usize = 8;

/// So many that wait are not closed: they have only just come, and their requests are on the way.
const JUST_COME: usize = 8;

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
    /// Whether it is one for probes alone.
    is_spare: bool,
    /// Cancelled to close the connection.
    close: CancellationToken,
    /// Whether a whole request of the connection is being answered.
    is_answering: bool,
}

/// The slot of one connection, free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: ConnectionSlots,
    number: u64,
    /// Whether the connection is answered only if it asks how the replica is.
    pub(super) is_spare: bool,
    /// Cancelled when the connection has to make room.
    pub(super) close: CancellationToken,
}

/// A request whose body is on its way. When this is dropped, the request is being answered.
#[derive(Debug)]
pub(super) struct Receiving {
    slots: ConnectionSlots,
    number: u64,
}

/// A request that is being answered. When this is dropped, the server has made the whole answer: the connection waits for the
/// next request, though the client may not have read everything yet.
#[derive(Debug)]
pub(super) struct Answering {
    slots: ConnectionSlots,
    number: u64,
}

impl SlotTable {
    /// Closes the oldest of these connections that waits for a request. Returns whether one did.
    fn make_room(&mut self, is_spare: bool) -> bool {
        let waiting =
            self.connections.iter().filter(|(_, slot)| slot.is_spare == is_spare && !slot.is_answering);
        let mut waiting = waiting.map(|(number, _)| *number);
        let oldest = waiting.next();
        // There are no further slots for those that come while the spare ones are taken.
        let is_enough = is_spare || waiting.count() >= JUST_COME;
        let closed = oldest.filter(|_| is_enough).and_then(|number| self.connections.remove(&number));
        closed.map(|slot| slot.close.cancel()).is_some()
    }

    /// Whether one of these slots is free, or becomes free because a connection makes room.
    fn has_room(&mut self, is_spare: bool) -> bool {
        let taken = self.connections.values().filter(|slot| slot.is_spare == is_spare).count();
        taken < if is_spare { SPARE } else { MOST } || self.make_room(is_spare)
    }
}

impl ConnectionSlots {
    /// Takes a slot, one for probes alone if there is no other; `None` if all are taken by connections whose requests are
    /// being answered.
    pub(super) fn take(&self) -> Option<ConnectionSlot> {
        let mut table = self.lock();
        let is_spare = !table.has_room(false);
        if is_spare && !table.has_room(true) {
            return None;
        }
        let (number, close) = (table.next, CancellationToken::new());
        table.next += 1;
        let taken = TakenSlot { is_spare, close: close.clone(), is_answering: false };
        table.connections.insert(number, taken);
        drop(table);
        Some(ConnectionSlot { slots: self.clone(), number, is_spare, close })
    }

    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, number: u64, is_answering: bool) {
        if let Some(slot) = self.lock().connections.get_mut(&number) {
            slot.is_answering = is_answering;
        }
    }
}

impl ConnectionSlot {
    /// Notes that the head of a request has come.
    pub(super) fn receiving(&self) -> Receiving {
        Receiving { slots: self.slots.clone(), number: self.number }
    }

    /// Returns what is to be dropped when the answer was sent.
    pub(super) fn answering(&self) -> Answering {
        Answering { slots: self.slots.clone(), number: self.number }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock().connections.remove(&self.number);
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.slots.note(self.number, true);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.slots.note(self.number, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_taken(slots: &ConnectionSlots) -> Vec<ConnectionSlot> {
        (0..MOST).map(|_| slots.take().expect("a free slot")).collect()
    }

    /// Has a whole request of this connection answered until the returned value is dropped.
    fn answer(slot: &ConnectionSlot) -> Answering {
        drop(slot.receiving());
        slot.answering()
    }

    #[test]
    fn a_further_connection_takes_the_place_of_the_oldest_that_waits_for_a_request() {
        let slots = ConnectionSlots::default();
        let taken = all_taken(&slots);
        let answering = answer(&taken[0]);
        let further = slots.take().expect("the second made room");
        let is_closed: Vec<bool> = taken.iter().map(|slot| slot.close.is_cancelled()).collect();
        assert_eq!(is_closed.iter().position(|closed| *closed), Some(1));
        assert_eq!(is_closed.iter().filter(|closed| **closed).count(), 1);
        assert!(!further.is_spare);
        drop((answering, further));
        assert_eq!(slots.lock().connections.len(), MOST - 1);
    }

    #[test]
    fn a_connection_whose_body_is_on_its_way_makes_room_one_that_is_answered_does_not() {
        let slots = ConnectionSlots::default();
        let taken = all_taken(&slots);
        let answering = answer(&taken[0]);
        let (receiving, sent) = (taken[1].receiving(), taken[1].answering());
        let further = slots.take().expect("the second made room");
        assert!(!further.is_spare);
        assert!(!taken[0].close.is_cancelled() && taken[1].close.is_cancelled());
        drop((answering, receiving, sent, further));
    }

    #[test]
    fn while_most_are_answered_those_that_have_just_come_are_not_closed() {
        let slots = ConnectionSlots::default();
        let taken = all_taken(&slots);
        let answering: Vec<_> = taken[JUST_COME..].iter().map(answer).collect();
        let further = slots.take().expect("a spare slot");
        assert!(further.is_spare);
        assert!(!taken.iter().any(|slot| slot.close.is_cancelled()));
        drop((answering, further));
    }

    #[test]
    fn while_all_are_answered_a_few_more_are_taken_for_probes_and_the_oldest_makes_room() {
        let slots = ConnectionSlots::default();
        let taken = all_taken(&slots);
        let answering: Vec<_> = taken.iter().map(answer).collect();
        let spare: Vec<_> = (0..SPARE).map(|_| slots.take().expect("a spare slot")).collect();
        assert!(spare.iter().all(|slot| slot.is_spare));
        let further = slots.take().expect("the oldest made room");
        assert!(further.is_spare && spare[0].close.is_cancelled() && !spare[1].close.is_cancelled());
        let probes: Vec<_> = spare[1..].iter().chain([&further]).map(answer).collect();
        assert!(slots.take().is_none());
        drop((probes, answering));
        assert!(slots.take().is_some_and(|slot| !slot.is_spare));
    }
}
