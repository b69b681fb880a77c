//! The interface to the wall clock and the boot clock. Tests replace it.

use std::fmt;

use futures_util::future::BoxFuture;

use super::{BootInstant, UtcMillis};

/// A wait for an instant.
pub type Waiting<'a> = BoxFuture<'a, Woke>;

/// Why a wait for a wall-clock instant ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woke {
    /// The instant has come.
    Due,
    /// The wall clock was stepped: the caller must compute again every instant that it planned by this clock.
    Stepped,
}

/// A wall clock and a boot clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the time of the wall clock, in UTC.
    fn utc(&self) -> UtcMillis;

    /// Returns the time since the machine started, suspend included. This clock is never set.
    fn boot(&self) -> BootInstant;

    /// Returns what the boot clock of the machine shows when this boot clock shows `at`: other processes, as the guards of
    /// runs, know no other. The clocks of tests may differ from it.
    fn to_machine(&self, at: BootInstant) -> BootInstant {
        at
    }

    /// Waits until the wall clock shows `at`, or is stepped. It may return early when the machine is short of timers.
    /// Dropping the future ends the wait.
    fn wait_until(&self, at: UtcMillis) -> Waiting<'_>;

    /// Waits until `boot` is at or past `at`. It may return early when the machine is short of timers. Dropping the
    /// future ends the wait.
    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()>;
}
