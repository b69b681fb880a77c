//! Which leases of a job longer than the file's may be held, and when it is known that none is.

use std::time::Duration;

use crate::lease::{Answer, Protection, Reply};

use super::Contest;

/// What is known of the leases of a job.
#[derive(Debug)]
pub(in crate::replica) struct Leases {
    /// The largest that was seen: in this replica's file, or in an answer, where it may be another replica's.
    largest: Duration,
    /// `largest` when the era last changed, or the store forgot: it may be held under a lock that the store does not
    /// know of.
    before: Duration,
    /// Whether an *open* is under way that asks the record if a longer lease than the file's may be held, and no longer
    /// lease was seen since.
    is_asking: bool,
    /// Whether it was logged that the job waits for a longer lease.
    is_told: bool,
}

impl Leases {
    /// Returns the state of a job of which no other lease is known.
    pub(super) fn of(lease: Duration) -> Self {
        Self { largest: lease, before: Duration::ZERO, is_asking: false, is_told: false }
    }
}

impl Contest {
    /// Returns the largest lease of the job that may be held, as far as is known.
    pub(in crate::replica) fn largest_lease(&self) -> Duration {
        self.leases.largest
    }

    /// Takes in the record's lease from an answer. A replica that forgets the largest of them may wait too short a time
    /// for its holder.
    pub(in crate::replica) fn saw(&mut self, lease: Option<Duration>) {
        let lease = lease.unwrap_or_default();
        self.leases.largest = self.leases.largest.max(lease);
        self.leases.is_asking &= lease <= self.spec.lease;
    }

    /// Takes in the lease of a new file: the former one may still be held.
    pub(super) fn changed_lease(&mut self) {
        self.leases.largest = self.leases.largest.max(self.spec.lease);
        self.leases.is_asking = false;
    }

    /// Notes that the store may have forgotten locks.
    pub(super) fn doubt_leases(&mut self) {
        self.leases = Leases { before: self.leases.largest, ..Leases::of(self.leases.largest) };
    }

    /// Whether to ask the record if a longer lease than the file's may be held. `calm`: for how long this replica has
    /// watched the store; a lock held since before would be over by now. If the answer is that one may be held, or is
    /// lost, the record is asked again with the next heartbeat: until then, a store that is restarted makes the job
    /// wait for that lease.
    pub(in crate::replica) fn may_forget_lease(&self, calm: Duration) -> bool {
        let Leases { largest, before, .. } = self.leases;
        let is_longer = largest > self.spec.lease && Protection::LeaseForgotten.is_on();
        is_longer && (largest > before || calm >= largest)
    }

    /// Notes that the record is asked, now that all replicas have the same file.
    pub(in crate::replica) fn ask_for_lease(&mut self) {
        self.leases.is_asking = true;
    }

    /// Takes in the record's lease from the answer to an *open*; `None`: no answer, or no record. If that asked for it,
    /// and no longer lease was seen since, the longer ones are forgotten.
    pub(in crate::replica) fn told_lease(&mut self, lease: Option<Duration>) {
        self.saw(lease);
        let was_asked = std::mem::take(&mut self.leases.is_asking);
        if was_asked && lease.is_some() {
            (self.leases.largest, self.leases.is_told) = (self.spec.lease, false);
        }
    }

    /// Returns the longer lease that the job waits for, and how long until it is over, if the record knows no holder:
    /// once, and again when the store has forgotten again.
    pub(in crate::replica) fn awaits_longer_lease(&mut self, reply: &Reply) -> Option<(Duration, Duration)> {
        let Answer::Held { by: None, frees_in } = reply.answer else { return None };
        let lease = reply.lease.filter(|lease| *lease > self.spec.lease && frees_in > self.spec.lease)?;
        (!std::mem::replace(&mut self.leases.is_told, true)).then_some((lease, frees_in))
    }
}

#[cfg(test)]
#[path = "tests/leases.rs"]
mod tests;
