//! Counts claims that the store refused because they came later than they stated (`unsynced`). One is sent again and
//! logged nowhere; many are logged as a warning, because the line to the store is too slow, or a clock wrong. Pure.

use std::time::Duration;

use crate::time::BootInstant;

/// Fewer refusals are not logged: a stepped clock, or a store that was frozen for a moment, causes them for a job or two.
const MANY: u64 = 10;

/// The warning is logged again after this long; and refusals further apart are not added up.
const APART: Duration = Duration::from_secs(60);

/// Refusals that were not logged yet.
#[derive(Debug, Default)]
pub(crate) struct LateClaims {
    count: u64,
    last: Option<BootInstant>,
    told: Option<BootInstant>,
}

impl LateClaims {
    /// Counts a refused claim.
    pub(crate) fn add(&mut self, now: BootInstant) {
        if self.last.is_some_and(|last| now.since(last) > APART) {
            self.count = 0;
        }
        self.count += 1;
        self.last = Some(now);
    }

    /// Returns how many claims were refused since the last warning, if another one is due.
    pub(crate) fn news(&mut self, now: BootInstant) -> Option<u64> {
        let is_due = self.told.is_none_or(|told| now.since(told) >= APART);
        if !is_due || self.count < MANY {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(1_000 + seconds))
    }

    fn refused(times: u64, unsynced: &mut LateClaims, now: BootInstant) {
        (0..times).for_each(|_| unsynced.add(now));
    }

    #[test]
    fn many_refusals_are_told_with_their_number_and_once_a_minute() {
        let mut unsynced = LateClaims::default();
        refused(9, &mut unsynced, at(0));
        assert_eq!(unsynced.news(at(0)), None, "a few are nothing to tell of");
        refused(5, &mut unsynced, at(1));
        assert_eq!(unsynced.news(at(1)), Some(14));
        refused(600, &mut unsynced, at(30));
        assert_eq!(unsynced.news(at(60)), None);
        refused(20, &mut unsynced, at(61));
        assert_eq!(unsynced.news(at(61)), Some(620));
        assert_eq!(unsynced.news(at(200)), None);
    }

    #[test]
    fn refusals_that_are_far_apart_are_not_added_up() {
        let mut unsynced = LateClaims::default();
        for minute in 0..30 {
            unsynced.add(at(61 * minute));
            assert_eq!(unsynced.news(at(61 * minute)), None);
        }
    }
}
