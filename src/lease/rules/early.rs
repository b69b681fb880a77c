//! Decisions that are made before the instant of a tick.

use std::time::Duration;

use crate::job::Cause;
use crate::time::UtcMillis;

/// A tick may be granted this long before its instant, by the store's clock: replicas' clocks differ a little, and the
/// replica that claims first sends its claim ahead of the instant.
pub(crate) const EARLY_TOLERANCE: Duration = Duration::from_millis(200);

/// Returns when a run begins that is granted, or prepared, at `now`: at its tick's instant, but at most [`EARLY_TOLERANCE`]
/// from now; no tick is granted earlier than that. A manual run begins at once.
pub(crate) fn begins(cause: Cause, instant: UtcMillis, now: UtcMillis) -> UtcMillis {
    match cause {
        Cause::Manual => now,
        Cause::Schedule | Cause::CatchUp | Cause::Rerun => now.max(instant.min(now.plus(EARLY_TOLERANCE))),
    }
}

/// Returns the instant from which a schedule applies that replaced another at `since`, when every tick up to `mark` is
/// decided. Ticks that were decided before their instants (within [`EARLY_TOLERANCE`]) belong to the old schedule, so the
/// new one starts after `mark`.
pub(crate) fn holds_from(since: UtcMillis, mark: UtcMillis) -> UtcMillis {
    if mark <= since.plus(EARLY_TOLERANCE) { since.max(mark) } else { since }
}
