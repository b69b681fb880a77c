//! Instants of the boot clock, which nobody sets and which counts suspend.

use std::time::Duration;

/// An instant on `CLOCK_BOOTTIME`: time since the machine started, suspend included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootInstant(pub Duration);

impl BootInstant {
    /// This much later.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
