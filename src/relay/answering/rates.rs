//! How often one asker may ask.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::job::RunId;

/// An asker that follows a run asks some twelve times a minute.
const PER_MINUTE: u32 = 32;

/// The time in which questions are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// Of so many askers questions are counted. More are turned away until a minute is over.
const ASKERS: usize = 256;

/// The questions of each asker within its current minute. Pure.
#[derive(Debug, Default)]
pub(super) struct AskerRates {
    askers: HashMap<RunId, (Instant, u32)>,
}

impl AskerRates {
    /// Whether this asker may ask now. If so, its question is counted.
    pub(super) fn admits(&mut self, asker: RunId, now: Instant) -> bool {
        if !self.askers.contains_key(&asker) && self.askers.len() >= ASKERS {
            self.askers.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
            if self.askers.len() >= ASKERS {
                return false;
            }
        }
        let (since, count) = self.askers.entry(asker).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= PER_MINUTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asker_has_so_many_questions_a_minute() {
        let (mut rates, now) = (AskerRates::default(), Instant::now());
        let (one, other) = (RunId::new(), RunId::new());
        assert!((0..PER_MINUTE).all(|_| rates.admits(one, now)));
        assert!(!rates.admits(one, now + Duration::from_secs(59)));
        assert!(rates.admits(other, now));
        assert!(rates.admits(one, now + MINUTE));
    }

    #[test]
    fn of_many_askers_no_more_are_remembered() {
        let (mut rates, now) = (AskerRates::default(), Instant::now());
        assert!((0..ASKERS).all(|_| rates.admits(RunId::new(), now)));
        assert!(!rates.admits(RunId::new(), now));
        assert_eq!(rates.askers.len(), ASKERS);
        assert!(rates.admits(RunId::new(), now + MINUTE));
        assert_eq!(rates.askers.len(), 1);
    }
}
