//! Instants of the boot clock, which is never set and counts suspend.

use std::time::Duration;

/// An instant on `CLOCK_BOOTTIME`: time since the machine started, suspend included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootInstant(pub Duration);

impl BootInstant {
    /// Returns the instant that is later by this much; saturates.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// Returns the time from `earlier` to this instant; zero if this one is not later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
