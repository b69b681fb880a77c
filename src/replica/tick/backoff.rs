//! How long a job waits before its next claim. Pure.

use std::time::Duration;

use crate::job::{JobSpec, Overlap, Tick};
use crate::time::UtcMillis;

/// The pause after a request that got no answer, and the longest one: it doubles with each further failure.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A held lock is claimed again after this part of the lease: its holder renews as often.
const ASKS_PER_LEASE: u32 = 6;

/// The shortest pause, however soon the lock seems to be over.
const SHORTEST: Duration = Duration::from_millis(50);

/// A job whose record a newer release wrote is claimed again after this long.
pub(super) const SCHEMA: Duration = Duration::from_secs(30);

/// Returns the pause after a failure that came after `failures` others in a row.
pub(super) fn after_failures(failures: u32) -> Duration {
    RETRY.0.saturating_mul(1 << failures.min(10)).min(RETRY.1)
}

/// Returns the pause between two requests about a lock or a run.
pub(super) fn ask_every(spec: &JobSpec) -> Duration {
    spec.lease / ASKS_PER_LEASE
}

/// Returns the pause while the lock is held, which is over after `frees_in`. A tick that waits for the lock is claimed
/// right after the end of its start deadline: that claim decides it as missed.
pub(super) fn while_held(spec: &JobSpec, tick: Tick, frees_in: Duration, now: UtcMillis) -> Duration {
    let pause = frees_in.min(ask_every(spec));
    let too_late = tick.instant().plus(spec.start_deadline_of(tick)).plus(Duration::from_millis(1));
    let left = Some(too_late.since(now)).filter(|left| spec.overlap != Overlap::Skip && !left.is_zero());
    left.map_or(pause, |left| pause.min(left)).max(SHORTEST)
}
