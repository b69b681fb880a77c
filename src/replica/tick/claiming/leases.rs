//! Which leases of a job may be held for longer than the file says, and when it is known that none is.

use std::time::Duration;

use crate::lease::{Answer, Reply};

use super::Contest;

/// What is known of the leases of a job.
#[derive(Debug)]
pub(in crate::replica) struct Leases {
    /// The largest that was seen: here, or in an answer about another replica's.
    largest: Duration,
    /// The largest as the store last began another life, or forgot: it may be held under a lock that the store knows nothing
    /// of.
    before: Duration,
    /// Whether the record was asked if a longer lease than the file's may be held, the answer is on its way, and no longer lease
    /// was seen since.
    is_asking: bool,
    /// Whether it has been told that the job waits for a longer lease.
    is_told: bool,
}

impl Leases {
    /// A job with this lease.
    pub(super) fn of(lease: Duration) -> Self {
        Self { largest: lease, before: Duration::ZERO, is_asking: false, is_told: false }
    }
}

impl Contest {
    /// The largest lease of the job that may be held, as far as is known.
    pub(in crate::replica) fn largest_lease(&self) -> Duration {
        self.leases.largest
    }

    /// An answer told the record's lease: whoever forgets the largest of them may wait too short a time for its holder.
    pub(in crate::replica) fn saw(&mut self, lease: Option<Duration>) {
        let lease = lease.unwrap_or_default();
        self.leases.largest = self.leases.largest.max(lease);
        self.leases.is_asking &= lease <= self.spec.lease;
    }

    /// The file tells another lease: the former one may be held still.
    pub(super) fn changed_lease(&mut self) {
        self.leases.largest = self.leases.largest.max(self.spec.lease);
        self.leases.is_asking = false;
    }

    /// The store may have forgotten who holds what.
    pub(super) fn doubt_leases(&mut self) {
        self.leases = Leases { before: self.leases.largest, ..Leases::of(self.leases.largest) };
    }

    /// Whether to ask the record if a longer lease than the file's may be held, by a replica that has watched the store for so
    /// long: what is held since before would be over by now. Where the answer is that one may be, or is lost, the record is
    /// asked again with the next heartbeat: a store that is restarted meanwhile makes the job wait for that lease.
    pub(in crate::replica) fn may_forget_lease(&self, calm: Duration) -> bool {
        let Leases { largest, before, .. } = self.leases;
        largest > self.spec.lease && (largest > before || calm >= largest)
    }

    /// The record is asked, now that all replicas have the same file.
    pub(in crate::replica) fn ask_for_lease(&mut self) {
        self.leases.is_asking = true;
    }

    /// The record told its lease, when it was asked or otherwise.
    pub(in crate::replica) fn told_lease(&mut self, lease: Option<Duration>) {
        self.saw(lease);
        let was_asked = std::mem::take(&mut self.leases.is_asking);
        if was_asked && lease.is_some() {
            (self.leases.largest, self.leases.is_told) = (self.spec.lease, false);
        }
    }

    /// The job waits for a longer lease than its own, and the record knows no holder: that lease, and how long until it is over.
    /// Told once, and again when the store forgets again.
    pub(in crate::replica) fn awaits_longer_lease(&mut self, reply: &Reply) -> Option<(Duration, Duration)> {
        let Answer::Held { by: None, frees_in } = reply.answer else { return None };
        let lease = reply.lease.filter(|lease| *lease > self.spec.lease && frees_in > self.spec.lease)?;
        (!std::mem::replace(&mut self.leases.is_told, true)).then_some((lease, frees_in))
    }
}

#[cfg(test)]
#[path = "tests/leases.rs"]
mod tests;
