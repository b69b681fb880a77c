//! The guard's clock: the boot clock, corrected if a time daemon slows that down. Linux slews the boot clock by up to
//! a tenth, and the lock ends by the clock of another machine.

use std::time::Duration;

use crate::time::{BootInstant, Clock, SystemClock, raw_clock};

/// For a wait shorter than this, a slowed timer is late by no more than a tenth of it.
const CLOSE: Duration = Duration::from_millis(10);

/// Counts from the moment at which the guard received the last deadline, which the replica had computed by the boot
/// clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct GuardClock {
    boot: BootInstant,
    raw: Duration,
}

impl GuardClock {
    /// Starts the clock when a deadline has been received.
    pub(super) fn start() -> Self {
        Self { boot: SystemClock.boot(), raw: raw_clock() }
    }

    /// Returns what the boot clock shows, or would show if it had not been slowed down since the deadline was
    /// received.
    pub(super) fn now(self) -> BootInstant {
        self.reckoned(SystemClock.boot(), raw_clock())
    }

    /// The raw clock is never slewed but does not count suspend; the boot clock does. The later one counts.
    fn reckoned(self, boot: BootInstant, raw: Duration) -> BootInstant {
        boot.max(self.boot.plus(raw.saturating_sub(self.raw)))
    }

    /// Returns when a timer of the boot clock has to end so that an instant of this clock is not missed, however slow
    /// the boot clock is.
    pub(super) fn timer_for(self, at: BootInstant) -> BootInstant {
        Self::timer(SystemClock.boot(), at.since(self.now()))
    }

    fn timer(boot: BootInstant, left: Duration) -> BootInstant {
        boot.plus(if left > CLOSE { left / 10 * 9 } else { left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> BootInstant {
        BootInstant(Duration::from_millis(ms))
    }

    #[test]
    fn the_guards_clock_is_no_slower_than_the_one_that_nobody_slews() {
        let clock = GuardClock { boot: at(1_000), raw: Duration::from_millis(500) };
        let now = |boot, raw| clock.reckoned(at(boot), Duration::from_millis(raw));
        assert_eq!(now(56_000, 60_500), at(61_000), "slowed down by a twelfth");
        assert_eq!(now(66_000, 60_500), at(66_000), "made faster, or the machine was suspended");
    }

    #[test]
    fn a_timer_that_is_slowed_down_by_a_tenth_misses_no_instant() {
        let (deadline, mut boot) = (60_000.0, 0.0);
        for looks in 1.. {
            let now = boot / 0.9;
            if now >= deadline {
                assert!(now < deadline + 2.0 && looks < 8, "{now} at look {looks}");
                return;
            }
            let left = Duration::from_secs_f64((deadline - now) / 1_000.0);
            let ends = GuardClock::timer(BootInstant(Duration::from_secs_f64(boot / 1_000.0)), left);
            boot = ends.0.as_secs_f64() * 1_000.0 + 0.001;
        }
    }
}
