//! A run of this replica, from its grant until its lock is released.

use std::time::Duration;

use crate::job::JobName;
use crate::time::BootInstant;

/// The shortest time between two proofs of life. A tick that still waits right after one waits for something else;
/// the next tick of the job comes a second later at the earliest.
const BETWEEN_PROOFS: Duration = Duration::from_millis(500);

/// What the core remembers of a run.
#[derive(Debug)]
pub(crate) struct OwnRun {
    pub(crate) job: JobName,
    /// The time between SIGTERM and SIGKILL, by the definition that the run started with.
    pub(crate) kill_grace: Duration,
    /// Whether nothing of it is left. Its end may not be recorded yet.
    pub(crate) has_ended: bool,
    /// When it last proved that it is alive.
    proven: Option<BootInstant>,
}

impl OwnRun {
    /// Returns a run that is about to start.
    pub(crate) fn new(job: JobName, kill_grace: Duration) -> Self {
        Self { job, kill_grace, has_ended: false, proven: None }
    }

    /// Whether it may prove that it is alive by renewing its lock now. If so, records that it does; it may not again
    /// right after that.
    pub(crate) fn may_prove(&mut self, now: BootInstant) -> bool {
        let may = !self.has_ended && self.proven.is_none_or(|before| now.since(before) >= BETWEEN_PROOFS);
        if may {
            self.proven = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_still_waits_after_a_proof_of_life_is_not_proven_to_again_and_again() {
        let mut run = OwnRun::new(JobName::parse("j").expect("a name"), Duration::ZERO);
        let mut may_at = |ms: u64| run.may_prove(BootInstant(Duration::from_millis(9_000 + ms)));
        assert_eq!([0, 10, 499, 500, 501, 1_000].map(&mut may_at), [true, false, false, true, false, true]);
        run.has_ended = true;
        assert!(!run.may_prove(BootInstant(Duration::from_secs(60))), "nothing of it is left");
    }
}
