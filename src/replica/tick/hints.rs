//! Processes hints: the store publishes ticks that were decided or abandoned, but any client that may publish can send
//! one. A hint puts a claim off for a moment, in which the marks of all hinted jobs are read together: only these are
//! believed. A hint that is lost, late, wrong, or of another era leads to a claim.

use std::cmp::Reverse;

use crate::job::JobName;
use crate::replica::core::Core;
use crate::store::{Hint, Marked};

impl Core {
    /// Takes in a hint: a tick was decided, so that this replica may not have to claim it; or it is open again.
    pub(crate) fn take_hint(&mut self, hint: &Hint) {
        let (now, store_now) = (self.now(), self.store_time());
        let Some(contest) = self.contests.get_mut(&hint.job) else { return };
        if !self.store_clock.is_in(&hint.era) {
            return;
        }
        // A hint states when the store decided the tick. A forged hint may state any time: one after the store's present
        // time, which this replica reckons itself, counts as the present time.
        self.store_clock.record_store_time(store_now.min(hint.reply.now));
        if let Some(at) = contest.overhear(&hint.reply, store_now, now) {
            self.alarms.push(Reverse((at, hint.job.clone())));
        }
    }

    /// Processes the marks of these jobs; `None`, or none at all, where they could not be read.
    pub(crate) fn marked(&mut self, jobs: &[JobName], marks: &[Option<Marked>]) {
        let now = self.now();
        for (at, job) in jobs.iter().enumerate() {
            let Some(contest) = self.contests.get_mut(job) else { continue };
            let found = contest.look_found(marks.get(at).and_then(Option::as_ref), now);
            if let Some((tick, finding)) = found {
                self.tell_finding(job, tick, finding);
            }
            // The tick may have to be claimed after all, or the next one may be due already.
            self.look_at(job, now);
        }
    }
}
