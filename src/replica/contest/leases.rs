//! Which leases of a job may be held for longer than the file says, and when it is known that none is.

use std::time::Duration;

use crate::lease::BootInstant;

use super::Contest;

/// The record of a job of which a longer lease is remembered is asked this often.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// What is known of the leases of a job.
#[derive(Debug)]
pub(in crate::replica) struct Leases {
    /// The largest that was seen: here, or in an answer about another replica's.
    largest: Duration,
    /// The largest as the store last began another life, or forgot: it may be held under a lock that the store knows nothing
    /// of.
    before: Duration,
    /// When the record was last asked whether a longer lease than the file's may be held.
    asked: Option<BootInstant>,
    /// Whether the answer is on its way, and no longer lease was seen since.
    is_asking: bool,
}

impl Leases {
    /// A job with this lease.
    pub(super) fn of(lease: Duration) -> Self {
        Self { largest: lease, before: Duration::ZERO, asked: None, is_asking: false }
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
        (self.leases.asked, self.leases.is_asking) = (None, false);
    }

    /// The store may have forgotten who holds what.
    pub(super) fn doubt_leases(&mut self) {
        (self.leases.before, self.leases.is_asking) = (self.leases.largest, false);
    }

    /// Whether to ask the record if a longer lease than the file's may be held, by a replica that has watched the store for so
    /// long: what is held since before would be over by now.
    pub(in crate::replica) fn may_forget_lease(&self, calm: Duration, now: BootInstant) -> bool {
        let Leases { largest, before, asked, .. } = self.leases;
        let is_vouched = largest > before || calm >= largest;
        let is_due = asked.is_none_or(|asked| now.since(asked) >= ASK_EVERY);
        largest > self.spec.lease && is_vouched && is_due
    }

    /// The record is asked, now that all replicas have the same file.
    pub(in crate::replica) fn ask_for_lease(&mut self, now: BootInstant) {
        (self.leases.asked, self.leases.is_asking) = (Some(now), true);
    }

    /// The record told its lease, when it was asked or otherwise.
    pub(in crate::replica) fn told_lease(&mut self, lease: Option<Duration>) {
        self.saw(lease);
        let was_asked = std::mem::take(&mut self.leases.is_asking);
        if was_asked && lease.is_some() {
            self.leases.largest = self.spec.lease;
        }
    }
}

#[cfg(test)]
#[path = "leases_tests.rs"]
mod tests;
