//! Claims that the store refused because they came later than they said. One is made again and told of nowhere; many mean
//! that the line to the store is too slow, or a clock wrong, and are worth a warning. Pure.

use std::time::Duration;

use crate::time::BootInstant;

/// Fewer are what a stepped clock, or a store that was frozen for a moment, costs a job or two.
const MANY: u64 = 10;

/// What is told is told again after this long; and refusals further apart have nothing to do with each other.
const APART: Duration = Duration::from_secs(60);

/// Refusals that were not told yet.
#[derive(Debug, Default)]
pub(crate) struct LateClaims {
    count: u64,
    last: Option<BootInstant>,
    told: Option<BootInstant>,
}

impl LateClaims {
    /// A claim was refused.
    pub(crate) fn add(&mut self, now: BootInstant) {
        if self.last.is_some_and(|last| now.since(last) > APART) {
            self.count = 0;
        }
        self.count += 1;
        self.last = Some(now);
    }

    /// How many were refused since that was told, if it is to be told now.
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
