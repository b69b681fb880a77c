//! Health and readiness. `/healthz` answers whether the replica's loop moves, whatever the store does, so that no
//! supervisor restarts a replica because the store is down. `/readyz` answers whether it can take ticks.

use std::sync::Mutex;
use std::time::Duration;

use crate::replica::ReplicaFacts;
use crate::time::BootInstant;

/// A loop that has not moved for this long hangs. It is notified once a second; a reload of 100,000 jobs takes less than
/// two.
const HANGS_AFTER: Duration = Duration::from_secs(10);

/// A store that has not answered for this long does not answer. Heartbeats are sent once a second.
const SILENT_AFTER: Duration = Duration::from_secs(5);

/// When the loop of the replica last moved.
#[derive(Debug)]
pub struct Progress(Mutex<BootInstant>);

impl Progress {
    /// Returns the progress of a loop that starts now.
    pub fn from(now: BootInstant) -> Self {
        Self(Mutex::new(now))
    }

    /// Notes that the loop moved.
    pub fn mark(&self, now: BootInstant) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = now;
    }

    /// Whether the loop has moved lately.
    pub(in crate::http) fn is_recent(&self, now: BootInstant) -> bool {
        let last = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        now.since(last) < HANGS_AFTER
    }
}

/// Returns why a replica takes no ticks now, as fixed words; empty if it takes them.
pub(in crate::http) fn not_ready(facts: &ReplicaFacts, now: BootInstant) -> Vec<&'static str> {
    let answers = facts.answered.is_some_and(|answered| now.since(answered) < SILENT_AFTER);
    let reasons = [
        (facts.is_draining, "draining"),
        (facts.answered.is_none() || facts.unopened_jobs > 0, "opening"),
        (facts.is_store_away || facts.answered.is_some() && !answers, "store"),
        (facts.is_clock_off, "clock"),
    ];
    reasons.into_iter().filter_map(|(applies, word)| applies.then_some(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    #[test]
    fn a_loop_that_stands_still_for_ten_seconds_is_unhealthy_until_it_moves() {
        let progress = Progress::from(at(100));
        assert!(progress.is_recent(at(109)));
        assert!(!progress.is_recent(at(110)));
        progress.mark(at(111));
        assert!(progress.is_recent(at(112)));
    }

    #[test]
    fn a_replica_is_ready_only_while_nothing_keeps_it_from_taking_ticks() {
        let ready = ReplicaFacts { answered: Some(at(100)), ..ReplicaFacts::default() };
        for (facts, now, reasons) in [
            (ready.clone(), 101, vec![]),
            (ready.clone(), 105, vec!["store"]),
            (ReplicaFacts::default(), 101, vec!["opening"]),
            (ReplicaFacts { is_store_away: true, ..ReplicaFacts::default() }, 101, vec!["opening", "store"]),
            (ReplicaFacts { unopened_jobs: 1, ..ready.clone() }, 101, vec!["opening"]),
            (ReplicaFacts { is_draining: true, ..ready.clone() }, 101, vec!["draining"]),
            (ReplicaFacts { is_store_away: true, ..ready.clone() }, 101, vec!["store"]),
            (ReplicaFacts { is_clock_off: true, ..ready.clone() }, 101, vec!["clock"]),
        ] {
            assert_eq!(not_ready(&facts, at(now)), reasons, "{facts:?}");
        }
    }
}
