//! The longest lease that may be held of a job: how it is known, and when it is forgotten.

use std::time::Duration;

use crate::lease::{Caller, LeaseInstant, Open, Protection};

use super::transition::Transition;

impl Caller {
    /// Returns the longest lease that may be held, as far as the request, the record and the replica's memory show.
    pub(crate) fn longest_lease(&self, requested: Duration, recorded: Duration) -> Duration {
        if !Protection::LargestLease.is_on() {
            return requested;
        }
        requested.max(recorded).max(self.largest_lease)
    }
}

impl Transition<'_> {
    /// Extends the wait to the longest lease that the caller remembers: for a record that was never granted, and was created by
    /// a caller that knew only shorter leases; and for one that waits for a holder that the store may have forgotten.
    pub(crate) fn wait_for_remembered(&mut self, open: &Open) {
        let remembered = open.caller.longest_lease(open.lease, Duration::ZERO);
        let lease_now = self.server.lease_now;
        let record = self.record_mut();
        let is_waited_for = record.run.is_none() || !record.is_running() && record.locked_until > lease_now;
        // A new job does not wait longer because of its own lease.
        if is_waited_for && remembered > open.lease && remembered > record.lease {
            record.locked_until = record.locked_until.plus(remembered.saturating_sub(record.lease));
            record.lease = remembered;
        }
    }

    /// Raises the record's lease to the longest that the caller remembers, so that all other callers wait as long. Once the
    /// caller has watched the store for that long, no lock with that lease is left that the store forgot. The record then has
    /// the lease of the only holder.
    pub(crate) fn merge_lease(&mut self, open: &Open) {
        let remembered = open.caller.longest_lease(open.lease, Duration::ZERO);
        let record = self.record_mut();
        let is_known = record.is_running() && open.caller.calm >= remembered;
        if record.locked_until > LeaseInstant::FREE && !is_known {
            record.lease = open.caller.longest_lease(open.lease, record.lease);
        }
    }

    /// Forgets a lease that is longer than the caller's, if no replica takes one any more and the lock is free in this era, or
    /// a wait for a forgotten holder is over: then no caller holds one. That wait ends earlier by the difference. A caller that
    /// still remembers the longer lease adds the same difference again, if the record was never granted, and the wait stays
    /// over.
    pub(crate) fn forget_longer(&mut self, open: &Open) {
        let (lease_now, calm) = (self.server.lease_now, self.calm(&open.caller));
        let record = self.record_mut();
        let is_waited_for = record.locked_until <= lease_now && calm >= record.lease;
        let is_free = !record.is_running() && (record.locked_until == LeaseInstant::FREE || is_waited_for);
        if open.files_agree && is_free && record.lease > open.lease {
            if record.locked_until > LeaseInstant::FREE {
                let shorter = record.locked_until.minus(record.lease - open.lease);
                record.locked_until = shorter.max(LeaseInstant(LeaseInstant::FREE.0 + 1));
            }
            record.lease = open.lease;
        }
    }
}
