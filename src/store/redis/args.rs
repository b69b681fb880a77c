//! Arguments of the scripts, as texts.

use std::time::Duration;

use crate::job::Tick;
use crate::lease::{Caller, Lease};
use crate::time::UtcMillis;

/// The largest whole number that the scripts can hold exactly.
pub(super) const MAX: u128 = 9_007_199_254_740_991;

/// Arguments in the order of the script's header.
#[derive(Default)]
pub(super) struct Args(pub(super) Vec<Vec<u8>>);

impl Args {
    /// The arguments that each request for a lock begins with.
    pub(super) fn bid(caller: &Caller, run: &str, tick: Tick) -> Self {
        Self::default()
            .text(&caller.node)
            .instant(caller.expect)
            .text(&caller.era.0)
            .duration(caller.calm)
            .instant(caller.latest_store_time)
            .duration(caller.largest_lease)
            .optional(caller.known_mark.map(|at| at.0))
            .text(run)
            .instant(tick.instant())
    }

    /// Adds what the caller knows about a store that went back to an older state, and about a clock that leapt ahead.
    pub(super) fn leap(self, caller: &Caller) -> Self {
        self.optional(caller.answered_mark.map(|at| at.0)).optional(caller.leapt_from.map(|at| at.0))
    }

    /// The arguments that describe a granted lock.
    pub(super) fn lease(lease: &Lease) -> Self {
        Self::default()
            .text(lease.run)
            .text(lease.fence)
            .instant(lease.tick.instant())
            .duration(lease.length)
            .text(&lease.node)
            .text(lease.cause)
            .text(lease.tries)
            .instant(lease.started)
            .text(&lease.schedule_hash.0)
            .instant(lease.mark)
    }

    pub(super) fn text(mut self, value: impl ToString) -> Self {
        self.0.push(value.to_string().into_bytes());
        self
    }

    /// Adds a value; `None` is an empty text.
    pub(super) fn optional<T: ToString>(self, value: Option<T>) -> Self {
        let value = value.map_or_else(String::new, |value| value.to_string());
        self.text(value)
    }

    /// Adds a tick, as the milliseconds of its instant.
    pub(super) fn tick(self, tick: Option<Tick>) -> Self {
        self.optional(tick.map(Tick::as_millis))
    }

    /// Adds an instant, in milliseconds since 1970.
    pub(super) fn instant(self, at: UtcMillis) -> Self {
        self.text(at.0)
    }

    /// Adds a duration in whole milliseconds, at most as many as the scripts can hold.
    pub(super) fn duration(self, duration: Duration) -> Self {
        self.text(duration.as_millis().min(MAX))
    }

    /// Adds `1` or `0`.
    pub(super) fn flag(self, flag: bool) -> Self {
        self.text(u8::from(flag))
    }
}
