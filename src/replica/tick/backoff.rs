//! How long a contest waits before it asks the store again. Pure.

use std::time::Duration;

use crate::job::{JobSpec, Overlap, Tick};
use crate::time::UtcMillis;

/// A store that did not answer is asked again after this long, twice as long each time.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A held lock is asked for again after this part of the lease: its holder renews as often.
const ASKS_PER_LEASE: u32 = 6;

/// However soon the holder's time seems over, it is not asked for more often than this.
const SHORTEST: Duration = Duration::from_millis(50);

/// A record of a newer release is looked at again after this long.
pub(super) const SCHEMA: Duration = Duration::from_secs(30);

/// After so many failures in a row.
pub(super) fn after_failures(failures: u32) -> Duration {
    RETRY.0.saturating_mul(1 << failures.min(10)).min(RETRY.1)
}

/// From one question after a lock or a run to the next.
pub(super) fn ask_every(spec: &JobSpec) -> Duration {
    spec.lease / ASKS_PER_LEASE
}

/// While the lock is held, which frees itself after `frees_in`. Who waits for it does not sleep through the end of its
/// start deadline: then it is decided as missed.
pub(super) fn while_held(spec: &JobSpec, tick: Tick, frees_in: Duration, now: UtcMillis) -> Duration {
    let pause = frees_in.min(ask_every(spec));
    let too_late = tick.instant().plus(spec.start_deadline_of(tick)).plus(Duration::from_millis(1));
    let left = Some(too_late.since(now)).filter(|left| spec.overlap != Overlap::Skip && !left.is_zero());
    left.map_or(pause, |left| pause.min(left)).max(SHORTEST)
}
