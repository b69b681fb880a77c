//! A job that waits for a longer lease than its file's, which nobody is known to hold: the store forgot, and a replica remembers
//! that lease. Without a word about it, nobody would know why the job stands still.

use std::time::Duration;

use crate::job::JobName;
use crate::store::Replied;

use super::driver::Driver;
use super::event::Event;

/// What a job waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAwaited {
    /// The job.
    pub job: JobName,
    /// The lease that somebody whom the store forgot may have.
    pub lease: Duration,
    /// How long until it is over.
    pub frees_in: Duration,
}

impl Driver {
    /// A claim was answered: the store's time counts, and a long wait for nobody who is known is told of once.
    pub(super) fn hear_answer(&mut self, job: &JobName, replied: &Replied) {
        let Ok(reply) = replied else { return };
        self.shop.hear(reply);
        let told = self.contests.get_mut(job).and_then(|contest| contest.awaits_longer_lease(reply));
        if let Some((lease, frees_in)) = told {
            self.shop.events.tell(Event::LeaseAwaited(LeaseAwaited { job: job.clone(), lease, frees_in }));
        }
    }
}
