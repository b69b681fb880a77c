//! What is decided ahead of its instant.

use std::time::Duration;

use crate::job::Cause;
use crate::time::UtcMillis;

/// A tick may be granted this much before its instant by the store's clock: replicas' clocks differ a little, and who asks
/// first asks ahead.
pub(crate) const EARLY_TOLERANCE: Duration = Duration::from_millis(200);

/// When a run begins that is granted, or made ready, at `now`: at its tick's instant, where that is as far ahead as is ever
/// granted; by hand, at once.
pub(crate) fn begins(cause: Cause, instant: UtcMillis, now: UtcMillis) -> UtcMillis {
    match cause {
        Cause::Manual => now,
        Cause::Schedule | Cause::CatchUp | Cause::Rerun => now.max(instant.min(now.plus(EARLY_TOLERANCE))),
    }
}

/// From when on a schedule holds that took the place of another at `since`, every tick up to `mark` being decided: what was
/// decided ahead of its instant was decided by the schedule before.
pub(crate) fn holds_from(since: UtcMillis, mark: UtcMillis) -> UtcMillis {
    if mark <= since.plus(EARLY_TOLERANCE) { since.max(mark) } else { since }
}
