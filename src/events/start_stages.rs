//! How long the stages of one start took.

use std::time::Duration;

/// The stages between a tick's instant and the first instruction of its command. Time before the instant does
/// not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartStages {
    /// Until the claim was sent.
    pub claim: Duration,
    /// Until the store granted the lock.
    pub grant: Duration,
    /// Until the guard was requested.
    pub prepare: Duration,
    /// Until the main process existed.
    pub spawn: Duration,
}
