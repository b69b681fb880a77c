//! The clocks as read at one moment, for steps that read no clock themselves.

use std::time::Duration;

use super::{BootInstant, Clock, UtcMillis};

/// A reading of both clocks. The wall clock was read between two readings of the boot clock: the machine may have been
/// suspended in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The boot clock, read first.
    pub boot: BootInstant,
    /// The wall clock, in UTC.
    pub wall: UtcMillis,
    /// The boot clock, read last.
    pub boot_after: BootInstant,
}

impl Now {
    /// Reads the clocks.
    pub fn read(clock: &dyn Clock) -> Self {
        let boot = clock.boot();
        let wall = clock.utc();
        Self { boot, wall, boot_after: clock.boot() }
    }

    /// Returns a reading for which no time passed.
    pub const fn at(boot: BootInstant, wall: UtcMillis) -> Self {
        Self { boot, wall, boot_after: boot }
    }

    /// Whether the wall clock was certainly stepped between an earlier reading and this one, by more than `tolerated`:
    /// a timer of the kernel reports steps at once, but not all of them (it may be set anew at that moment).
    pub fn is_stepped_since(&self, earlier: &Self, tolerated: Duration) -> bool {
        let least = earlier.wall.plus(self.boot.since(earlier.boot_after));
        let most = earlier.wall.plus(self.boot_after.since(earlier.boot));
        self.wall.plus(tolerated) < least || self.wall > most.plus(tolerated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(boot_ms: u64, wall_ms: i64, boot_after_ms: u64) -> Now {
        let at = |ms| BootInstant(Duration::from_millis(ms));
        Now { boot: at(boot_ms), wall: UtcMillis(wall_ms), boot_after: at(boot_after_ms) }
    }

    #[test]
    fn a_step_is_what_the_time_between_two_readings_does_not_explain() {
        let is_stepped =
            |earlier: Now, later: Now| later.is_stepped_since(&earlier, Duration::from_millis(500));
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
