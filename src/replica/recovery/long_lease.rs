//! A job that waits for a longer lease than its file's, which nobody is known to hold: the store forgot, and a replica remembers
//! that lease. Without a word about it, nobody would know why the job stands still.

use crate::events::{Event, LeaseAwaited};
use crate::job::JobName;
use crate::replica::driver::Driver;
use crate::store::Replied;

impl Driver {
    /// A claim was answered: the store's time counts, and a long wait for nobody who is known is told of once.
    pub(crate) fn hear_answer(&mut self, job: &JobName, replied: &Replied) {
        let Ok(reply) = replied else { return };
        self.context.hear(reply);
        let told = self.contests.get_mut(job).and_then(|contest| contest.awaits_longer_lease(reply));
        if let Some((lease, frees_in)) = told {
            self.context.events.tell(Event::LeaseAwaited(LeaseAwaited { job: job.clone(), lease, frees_in }));
        }
    }
}
