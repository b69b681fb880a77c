//! Whether the store's clock runs at the same rate as this machine's boot clock: no more than 1 % too fast or too slow,
//! over any time from a second to half an hour. Pure; `StoreClock` feeds it with readings.

use std::time::Duration;

use crate::store::Slewed;
use crate::store::clock::{ClockReading, DRIFT_DIVISOR};
use crate::time::BootInstant;

/// Allowance for rounding: readings are in whole milliseconds, on both sides.
const ROUNDING: Duration = Duration::from_millis(3);

/// The best reading of each span of this many seconds is remembered. A quick slew shows within seconds; a slow one, or one
/// over a slow network, within minutes. An old reading alone would hide both, because 1 % of the whole time since then is
/// allowed.
const SPANS: [u64; 6] = [1, 4, 16, 64, 256, 1_024];

/// A clock that is corrected now and then is off by this much at once: a tenth of the second that a holder has in reserve
/// before its lock ends.
const CORRECTION: Duration = Duration::from_millis(100);

/// A slew is over when no reading has shown it for this long: one of little more than 1 % does not show in every reading.
const OVER_AFTER: Duration = Duration::from_secs(30);

impl ClockReading {
    /// Whether the store's clock has certainly run more than 1 % too fast or too slow since an earlier reading, and by more
    /// than a small correction.
    fn drifts_from(self, earlier: Self) -> bool {
        let off = Duration::from_millis(self.origin().abs_diff(earlier.origin()));
        let allowed = self.received.since(earlier.sent) / DRIFT_DIVISOR;
        off > allowed + self.error() + earlier.error() + ROUNDING + CORRECTION
    }
}

/// The best reading of the current span of time, and of the span before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    length: Duration,
    begun: BootInstant,
    best: ClockReading,
    before: Option<ClockReading>,
}

impl Span {
    fn take(&mut self, reading: ClockReading) {
        if reading.received.since(self.begun) >= self.length {
            *self = Self { begun: reading.received, best: reading, before: Some(self.best), ..*self };
        } else if reading.error() < self.best.error() {
            self.best = reading;
        }
    }
}

/// A period in which the store's clock has run steadily.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steady {
    pub(crate) since: BootInstant,
    spans: [Span; SPANS.len()],
}

impl Steady {
    /// Starts a period with this reading.
    pub(crate) fn from(reading: ClockReading) -> Self {
        let span = |seconds| Span {
            length: Duration::from_secs(seconds),
            begun: reading.received,
            best: reading,
            before: None,
        };
        Self { since: reading.received, spans: SPANS.map(span) }
    }

    /// Adds a reading.
    pub(crate) fn take(&mut self, reading: ClockReading) {
        self.spans.iter_mut().for_each(|span| span.take(reading));
    }

    /// Returns the newest reading since which the clock has certainly drifted too far; `None` if there is none.
    pub(crate) fn drifted_since(&self, reading: ClockReading) -> Option<ClockReading> {
        let known = self.spans.iter().flat_map(|span| span.before.into_iter().chain([span.best]));
        known.filter(|earlier| reading.drifts_from(*earlier)).max_by_key(|earlier| earlier.received)
    }
}

/// A period in which the store's clock is slewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slew {
    from: ClockReading,
    /// The newest reading that showed it.
    to: ClockReading,
}

impl Slew {
    /// Returns the slew that showed between `from` and `to`. It continues the slew `before`, unless that is over.
    pub(crate) fn seen(before: Option<Self>, from: ClockReading, to: ClockReading) -> Self {
        let before = before.filter(|before| !before.is_over(to.received));
        Self { from: before.map_or(from, |before| before.from), to }
    }

    fn is_over(&self, now: BootInstant) -> bool {
        now.since(self.to.received) > OVER_AFTER
    }

    /// Returns what a replica reports about the slew; `None` once it is over.
    pub(crate) fn told(&self, now: BootInstant) -> Option<Slewed> {
        let gained = i128::from(self.to.origin()) - i128::from(self.from.origin());
        let passed = self.to.received.since(self.from.received).as_millis().max(1);
        let ppm = gained * 1_000_000 / i128::try_from(passed).unwrap_or(i128::MAX);
        let faster_ppm = i64::try_from(ppm).unwrap_or(i64::MAX);
        (!self.is_over(now)).then_some(Slewed { since: self.from.store, faster_ppm })
    }
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
