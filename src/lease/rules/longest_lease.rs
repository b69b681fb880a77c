//! The longest lease that anybody may hold of a job: how it is known, and when it is forgotten.

use std::time::Duration;

use crate::lease::{Caller, LeaseInstant, Open, Protection};

use super::transition::Transition;

impl Caller {
    /// The longest lease that anybody may hold, as far as the request, the record and the replica's memory tell.
    pub(crate) fn longest_lease(&self, requested: Duration, recorded: Duration) -> Duration {
        if !Protection::LargestLease.is_on() {
            return requested;
        }
        requested.max(recorded).max(self.largest_lease)
    }
}

impl Transition<'_> {
    /// A record that was made by one who knew only of shorter leases, and was never granted, waits for the longest that the
    /// caller remembers; so does one that waits for a holder whom the store may have forgotten.
    pub(crate) fn wait_for_remembered(&mut self, open: &Open) {
        let remembered = open.caller.longest_lease(open.lease, Duration::ZERO);
        let lease_now = self.server.lease_now;
        let record = self.record_mut();
        let is_waited_for = record.run.is_none() || !record.is_running() && record.until > lease_now;
        // A job that is new waits no longer than that because of its own lease.
        if is_waited_for && remembered > open.lease && remembered > record.lease {
            record.until = record.until.plus(remembered.saturating_sub(record.lease));
            record.lease = remembered;
        }
    }

    /// Forgets a lease that is longer than the caller's, where nobody takes one any more and the lock is free in this life of
    /// the store: then nobody holds one.
    pub(crate) fn forget_longer(&mut self, open: &Open) {
        let (lease_now, calm) = (self.server.lease_now, self.calm(&open.caller));
        let record = self.record_mut();
        let is_waited_for = record.run.is_none() && record.until <= lease_now && calm >= record.lease;
        let is_free = !record.is_running() && (record.until == LeaseInstant::FREE || is_waited_for);
        if open.agreed && is_free {
            record.lease = record.lease.min(open.lease);
        }
    }
}
