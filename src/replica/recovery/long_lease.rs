//! Logs that a job waits for a lease that is longer than its own and has no known holder: the store forgot, and a
//! replica remembers that lease. Without this, an operator could not know why the job does not run.

use crate::events::{Event, LeaseAwaited};
use crate::job::JobName;
use crate::replica::core::Core;
use crate::store::Replied;

impl Core {
    /// Takes in the answer to a claim: records the store's time, and logs once that the job waits for a long lease.
    pub(crate) fn hear_answer(&mut self, job: &JobName, replied: &Replied) {
        let Ok(reply) = replied else { return };
        self.store_clock.hear(reply);
        let told = self.contests.get_mut(job).and_then(|contest| contest.awaits_longer_lease(reply));
        if let Some((lease, frees_in)) = told {
            self.report(Event::LeaseAwaited(LeaseAwaited { job: job.clone(), lease, frees_in }));
        }
    }
}
