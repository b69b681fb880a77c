//! What the store tells everybody of ticks that are decided, or given back; or somebody else does, who may publish there.
//! It puts a question off for a moment, in which the marks of all jobs that it was told of are read together: what they
//! show is believed, and nothing else. A hint that is lost, late, wrong, or of another life of the store leads to a question.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::job::JobName;
use crate::replica::driver::Driver;
use crate::replica::errand;
use crate::store::{Hint, Marked};

impl Driver {
    /// A tick is said to be decided, and whoever would have asked for it may not have to; or it is open again.
    pub(crate) fn take_hint(&mut self, hint: &Hint) {
        let (now, store_now) = (self.context.now(), self.context.store_time());
        let Some(contest) = self.contests.get_mut(&hint.job) else { return };
        if !self.context.is_in(&hint.era) {
            return;
        }
        // Of the time, nobody is believed who says so; but it may have been decided by now.
        self.context.hear_at(store_now);
        if let Some(at) = contest.overhear(&hint.reply, store_now, now) {
            self.alarms.push(Reverse((at, hint.job.clone())));
        }
    }

    /// Reads the marks that are to be read since the last time, all together.
    pub(crate) fn send_looks(&mut self) {
        if !self.looks.is_empty() {
            let jobs = std::mem::take(&mut self.looks);
            self.errands.spawn(errand::read_marks(Arc::clone(&self.context), jobs));
        }
    }

    /// Marks were read, or not.
    pub(crate) fn marked(&mut self, jobs: &[JobName], marks: &[Option<Marked>]) {
        let now = self.context.now();
        for (at, job) in jobs.iter().enumerate() {
            let Some(contest) = self.contests.get_mut(job) else { continue };
            let found = contest.look_found(marks.get(at).and_then(Option::as_ref), now);
            if let Some((tick, finding)) = found {
                self.tell_finding(job, tick, finding);
            }
            // The tick is to be asked for after all, or the next one may be due already.
            self.look_at(job, now);
            self.vacate(job);
        }
    }
}
