//! Ticks and fencing tokens, on which every replica and the store agree.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::UtcMillis;

/// One scheduled instant of one job, named by its UTC time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tick(pub UtcMillis);

/// The fencing token of a run: per job it only grows, and is below 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

impl Tick {
    /// Returns the tick at this many milliseconds since the Unix epoch.
    pub const fn at_millis(ms: i64) -> Self {
        Self(UtcMillis(ms))
    }

    /// Returns its instant.
    pub fn instant(self) -> UtcMillis {
        self.0
    }

    /// Returns its milliseconds since the Unix epoch, as in `SOLOCRON_TICK_MS`.
    pub fn as_millis(self) -> i64 {
        self.0.0
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_shown_as_rfc_3339_with_milliseconds() {
        assert_eq!(Tick::at_millis(1_700_000_000_000).to_string(), "2023-11-14T22:13:20.000Z");
    }
}
