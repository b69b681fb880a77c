//! Whether this machine's wall clock and the store's agree, and when a difference is logged. Pure.

use std::time::Duration;

use crate::events::event::Event;
use crate::time::BootInstant;

/// Clocks that differ by less agree: replicas spread their claims for a tick over less than this, unless very many
/// ticks are due at once.
const TOLERANCE: Duration = Duration::from_millis(500);

/// A lasting difference is logged again after this long.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// What was last logged about the two clocks.
#[derive(Debug, Default)]
pub(crate) struct ClockSkew {
    /// When a difference was last logged, and what was last measured; `None` while the clocks agree.
    said: Option<(BootInstant, i64)>,
}

impl ClockSkew {
    /// Takes in that the wall clock is ahead of the store's by so many milliseconds, give or take `error`. Returns
    /// what to log.
    pub(super) fn measured(&mut self, ahead_ms: i64, error: Duration, now: BootInstant) -> Option<Event> {
        let off = Duration::from_millis(ahead_ms.unsigned_abs());
        if off > TOLERANCE + error {
            let before = self.said.filter(|(said, _)| now.since(*said) < SAY_AGAIN);
            self.said = Some((before.map_or(now, |(said, _)| said), ahead_ms));
            return before.is_none().then_some(Event::ClockDiffers { ahead_ms });
        }
        // If a slow answer leaves open whether they agree, nothing changes.
        let agrees = off + error <= TOLERANCE;
        self.said.take_if(|_| agrees).map(|_| Event::ClockAgrees)
    }

    /// Returns how far the wall clock is ahead of the store's, in milliseconds, while they differ.
    pub(crate) fn ahead_ms(&self) -> Option<i64> {
        self.said.map(|(_, ahead_ms)| ahead_ms)
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
        let mut offset = ClockSkew::default();
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
        let (mut offset, slow) = (ClockSkew::default(), Duration::from_millis(400));
        assert_eq!(offset.measured(900, slow, at(0)), None);
        assert_eq!(offset.measured(901, slow, at(1)), Some(Event::ClockDiffers { ahead_ms: 901 }));
        assert_eq!(offset.measured(101, slow, at(2)), None);
        assert_eq!(offset.measured(100, slow, at(3)), Some(Event::ClockAgrees));
    }
}
