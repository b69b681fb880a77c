//! Detects steps of the wall clock by the boot clock. A timer of the kernel reports steps at once, but not all of
//! them (it may be set anew at that moment), and with the embedded store no heartbeat shows a difference. Pure.

use std::time::Duration;

use crate::time::{BootInstant, Clock, UtcMillis};

/// What the wall clock showed at some moment between two instants of the boot clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallReading {
    after: BootInstant,
    shown: UtcMillis,
    before: BootInstant,
}

impl WallReading {
    /// Reads the clocks now.
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        let after = clock.boot();
        let shown = clock.utc();
        Self { after, shown, before: clock.boot() }
    }

    /// Whether the clock was certainly stepped between an earlier reading and this one, by more than `tolerated`.
    pub(crate) fn is_stepped_since(&self, earlier: &Self, tolerated: Duration) -> bool {
        let least = earlier.shown.plus(self.after.since(earlier.before));
        let most = earlier.shown.plus(self.before.since(earlier.after));
        self.shown.plus(tolerated) < least || self.shown > most.plus(tolerated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(after_ms: u64, shown_ms: i64, before_ms: u64) -> WallReading {
        let at = |ms| BootInstant(Duration::from_millis(ms));
        WallReading { after: at(after_ms), shown: UtcMillis(shown_ms), before: at(before_ms) }
    }

    #[test]
    fn a_step_is_what_the_time_between_two_readings_does_not_explain() {
        let is_stepped = |earlier: WallReading, later: WallReading| {
            later.is_stepped_since(&earlier, Duration::from_millis(500))
        };
        let first = reading(0, 100_000, 0);
        assert!(!is_stepped(first, reading(1_000, 101_500, 1_000)));
        assert!(is_stepped(first, reading(1_000, 101_501, 1_000)));
        assert!(!is_stepped(first, reading(1_000, 100_500, 1_000)));
        assert!(is_stepped(first, reading(1_000, 100_499, 1_000)));
        // The machine was suspended within a reading: the time shown may be of any moment of it.
        assert!(!is_stepped(first, reading(1_000, 100_999, 60_000)));
        assert!(!is_stepped(first, reading(1_000, 160_000, 60_000)));
        assert!(!is_stepped(reading(0, 160_000, 60_000), reading(61_000, 161_000, 61_000)));
        assert!(is_stepped(reading(0, 160_000, 60_000), reading(61_000, 160_000, 61_000)));
    }
}
