//! Whether this machine's wall clock and the store's agree, and when that is worth a word; and whether the wall clock goes
//! on evenly. Pure.

use std::time::Duration;

use crate::job::UtcMillis;
use crate::lease::BootInstant;

use super::event::Event;

/// Clocks that differ by less agree: ticks are shared out over less than this.
const TOLERANCE: Duration = Duration::from_millis(500);

/// That they differ is said again after this long.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// What was last said of the two clocks.
#[derive(Debug, Default)]
pub(super) struct Offset {
    /// When it was last said that they differ, and what was last measured; absent while they agree.
    said: Option<(BootInstant, i64)>,
}

impl Offset {
    /// The wall clock is ahead of the store's by so many milliseconds, give or take `error`.
    pub(super) fn measured(&mut self, ahead_ms: i64, error: Duration, now: BootInstant) -> Option<Event> {
        let off = Duration::from_millis(ahead_ms.unsigned_abs());
        if off > TOLERANCE + error {
            let before = self.said.filter(|(said, _)| now.since(*said) < SAY_AGAIN);
            self.said = Some((before.map_or(now, |(said, _)| said), ahead_ms));
            return before.is_none().then_some(Event::ClockDiffers { ahead_ms });
        }
        // What a slow answer leaves open changes nothing.
        let agrees = off + error <= TOLERANCE;
        self.said.take_if(|_| agrees).map(|_| Event::ClockAgrees)
    }

    /// How far the wall clock is ahead of the store's, in milliseconds, while they differ.
    pub(super) fn ahead_ms(&self) -> Option<i64> {
        self.said.map(|(_, ahead_ms)| ahead_ms)
    }
}

/// Whether the wall clock goes on evenly from one look to the next. Timers tell of steps at once, but not every kernel lets
/// them, and a machine may be short of timers.
#[derive(Debug, Default)]
pub(super) struct Evenness {
    /// How far the wall clock was ahead of the one that only counts.
    lead_ms: Option<i64>,
}

impl Evenness {
    /// Whether the wall clock was stepped since the look before.
    pub(super) fn is_broken(&mut self, wall: UtcMillis, boot: BootInstant) -> bool {
        let lead_ms = wall.0 - i64::try_from(boot.0.as_millis()).unwrap_or(i64::MAX);
        let before = self.lead_ms.replace(lead_ms);
        before.is_some_and(|before| Duration::from_millis(lead_ms.abs_diff(before)) > TOLERANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    const EXACT: Duration = Duration::ZERO;

    #[test]
    fn a_difference_is_said_at_once_then_once_a_minute_and_once_when_it_is_over() {
        let mut offset = Offset::default();
        assert_eq!(offset.measured(400, EXACT, at(0)), None);
        assert_eq!(offset.measured(-700, EXACT, at(1)), Some(Event::ClockDiffers { ahead_ms: -700 }));
        assert_eq!(offset.measured(-701, EXACT, at(2)), None);
        assert_eq!(offset.ahead_ms(), Some(-701));
        assert_eq!(offset.measured(-702, EXACT, at(61)), Some(Event::ClockDiffers { ahead_ms: -702 }));
        assert_eq!(offset.measured(100, EXACT, at(62)), Some(Event::ClockAgrees));
        assert_eq!(offset.measured(100, EXACT, at(63)), None);
        assert_eq!(offset.ahead_ms(), None);
    }

    #[test]
    fn what_may_be_the_error_of_a_slow_answer_is_no_difference_and_ends_none() {
        let (mut offset, slow) = (Offset::default(), Duration::from_millis(400));
        assert_eq!(offset.measured(900, slow, at(0)), None);
        assert_eq!(offset.measured(901, slow, at(1)), Some(Event::ClockDiffers { ahead_ms: 901 }));
        assert_eq!(offset.measured(101, slow, at(2)), None);
        assert_eq!(offset.measured(100, slow, at(3)), Some(Event::ClockAgrees));
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_once_and_a_drift_never() {
        let mut evenness = Evenness::default();
        let seen = [(1_000, 1), (2_100, 2), (3_200, 3), (-1_000, 4), (0, 5), (3_600_000, 6), (3_601_000, 7)];
        let broken = seen.map(|(wall, second)| evenness.is_broken(UtcMillis(wall), at(second)));
        assert_eq!(broken, [false, false, false, true, false, true, false]);
    }
}
