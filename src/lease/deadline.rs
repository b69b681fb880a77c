//! The holder's side of a lease: when to renew, and when the run must have stopped. Measured on a clock that counts suspend,
//! from the moment when the last granted request was *sent*, so that the deadline always comes before the store frees the lock.

use std::time::Duration;

use crate::job::JobSpec;
use crate::time::BootInstant;

/// A holder renews every sixth of the lease. With a lease of 30 s, four renewals may fail before the run must stop; with
/// the smallest lease, 5 s, at least three.
const RENEWALS_PER_LEASE: u32 = 6;

/// The loss grace is at most a sixth of the lease, whatever `kill_grace` is.
const LOSS_GRACES_PER_LEASE: u32 = 6;

/// Covers the time that a process needs to end after SIGKILL, and timers that fire late.
const STOP_ALLOWANCE: Duration = Duration::from_secs(1);

/// The clocks of two machines may drift apart by one percent.
const DRIFT_DIVISOR: u32 = 100;

/// The intervals that the holder of a lock keeps, for one lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    lease: Duration,
    kill_grace: Duration,
}

impl Pace {
    /// Returns the pace for a job with this lease and this `kill_grace`.
    pub const fn new(lease: Duration, kill_grace: Duration) -> Self {
        Self { lease, kill_grace }
    }

    /// Returns the time from one successful renewal to the next.
    pub fn renew_every(self) -> Duration {
        self.lease / RENEWALS_PER_LEASE
    }

    /// Returns the time between SIGTERM and SIGKILL when the lock is lost.
    pub fn loss_grace(self) -> Duration {
        self.kill_grace.min(self.lease / LOSS_GRACES_PER_LEASE)
    }

    /// Returns how long before the end of the lease the run must begin to stop.
    pub fn margin(self) -> Duration {
        self.loss_grace() + STOP_ALLOWANCE + self.lease / DRIFT_DIVISOR
    }
}

/// The instant at which a holder that could not renew must begin to stop its run. It only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    pace: Pace,
    at: BootInstant,
}

impl Deadline {
    /// Returns the deadline after a request that was sent at `sent` and granted.
    pub fn granted(pace: Pace, sent: BootInstant) -> Self {
        Self { pace, at: Self::reach(pace, sent) }
    }

    /// Returns the deadline of a run of this job after a request that was sent at `sent` and granted.
    pub(crate) fn of_job(spec: &JobSpec, sent: BootInstant) -> Self {
        Self::granted(Pace::new(spec.lease, spec.kill_grace), sent)
    }

    fn reach(pace: Pace, sent: BootInstant) -> BootInstant {
        sent.plus(pace.lease.saturating_sub(pace.margin()))
    }

    /// Moves the deadline for a successful renewal that was sent at `sent`. An older one changes nothing.
    #[must_use]
    pub fn renewed(self, sent: BootInstant) -> Self {
        Self { at: self.at.max(Self::reach(self.pace, sent)), ..self }
    }

    /// Returns the instant of the deadline.
    pub fn at(self) -> BootInstant {
        self.at
    }

    /// Returns the end of the lease itself, as far as the holder knows: the store frees the lock no earlier.
    pub(crate) fn lease_end(self) -> BootInstant {
        self.at.plus(self.pace.margin())
    }

    /// Whether the run must stop at `now`; at the deadline itself, it must.
    pub fn is_over(self, now: BootInstant) -> bool {
        now >= self.at
    }

    /// Returns the pace that the deadline was made with.
    pub fn pace(self) -> Pace {
        self.pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    fn pace(lease: u64, kill_grace: u64) -> Pace {
        Pace::new(Duration::from_secs(lease), Duration::from_secs(kill_grace))
    }

    #[test]
    fn the_margin_holds_the_loss_grace_a_second_and_a_percent() {
        assert_eq!(pace(30, 10).margin(), Duration::from_millis(5_000 + 1_000 + 300));
        assert_eq!(pace(30, 2).margin(), Duration::from_millis(2_000 + 1_000 + 300));
    }

    #[test]
    fn the_smallest_lease_leaves_time_for_three_renewals() {
        let pace = pace(5, 10);
        let deadline = Deadline::granted(pace, at(0));
        assert!(deadline.at().0 > pace.renew_every() * 3, "{deadline:?}");
    }

    #[test]
    fn a_renewal_counts_from_its_sending_and_never_moves_the_deadline_back() {
        let first = Deadline::granted(pace(30, 10), at(100));
        assert_eq!(first.at().0, Duration::from_millis(100_000 + 30_000 - 6_300));
        let later = first.renewed(at(105));
        assert_eq!(later.at().since(first.at()), Duration::from_secs(5));
        assert_eq!(later.renewed(at(101)), later);
    }

    #[test]
    fn at_the_deadline_it_is_over() {
        let deadline = Deadline::granted(pace(30, 10), at(0));
        assert!(deadline.is_over(deadline.at()));
        assert!(!deadline.is_over(BootInstant(deadline.at().0 - Duration::from_millis(1))));
    }
}
