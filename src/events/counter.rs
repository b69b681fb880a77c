//! What counts events where they are told.

use std::fmt;

use super::event::Event;

/// Counts events. It is called by whoever tells an event, also in the replica's loop, so it never waits.
pub trait EventCounter: Send + Sync + fmt::Debug {
    /// Counts one event.
    fn count(&self, event: &Event);
}
