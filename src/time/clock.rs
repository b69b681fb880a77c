//! What a replica needs of a clock.

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
    /// The wall clock was stepped: every plan made by it must be made anew.
    Stepped,
}

/// A wall clock, and a clock that only counts.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock: UTC.
    fn utc(&self) -> UtcMillis;

    /// Time since the machine started, suspend included; never set.
    fn boot(&self) -> BootInstant;

    /// Waits until the wall clock shows `at`, or was stepped; it may end early, when the machine is short of timers.
    /// Dropping the future ends the wait.
    fn wait_until(&self, at: UtcMillis) -> Waiting<'_>;

    /// Waits until `boot` is at or past `at`; it may end early, when the machine is short of timers. Dropping the
    /// future ends the wait.
    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()>;
}
