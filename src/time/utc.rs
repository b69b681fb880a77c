//! Instants of the wall clock.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An instant in UTC, in milliseconds since the Unix epoch. The clock it was read from is named where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UtcMillis(pub i64);

impl UtcMillis {
    /// Converts a timestamp, rounded down to the millisecond.
    pub fn from_timestamp(at: Timestamp) -> Self {
        Self(at.as_nanosecond().div_euclid(1_000_000) as i64)
    }

    /// Converts to a timestamp, clamped to the years that timestamps can hold.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }

    /// Returns the instant that is later by this much; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis(by)))
    }

    /// Returns the instant that is earlier by this much; saturates.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(millis(by)))
    }

    /// Returns the time from `earlier` to this instant; zero if this one is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Returns the whole milliseconds of a duration; saturates.
fn millis(of: Duration) -> i64 {
    i64::try_from(of.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for UtcMillis {
    /// Writes RFC 3339 in UTC, with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.3}", self.timestamp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_shown_as_rfc_3339_with_milliseconds() {
        assert_eq!(UtcMillis(1_700_000_000_000).to_string(), "2023-11-14T22:13:20.000Z");
        assert_eq!(UtcMillis(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn instants_before_the_epoch_round_down() {
        let just_before = Timestamp::from_nanosecond(-1).expect("in range");
        assert_eq!(UtcMillis::from_timestamp(just_before), UtcMillis(-1));
    }

    #[test]
    fn differences_never_go_below_zero() {
        assert_eq!(UtcMillis(5).since(UtcMillis(9)), Duration::ZERO);
        assert_eq!(UtcMillis(9).since(UtcMillis(5)), Duration::from_millis(4));
    }
}
