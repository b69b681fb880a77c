//! Decides when the holder of a lock renews, and when it must stop. Pure: a step takes what happened and the time.

use std::time::Duration;

use crate::lease::{Deadline, Protection};
use crate::time::BootInstant;

/// A failed renewal is tried again after this fraction of the renewal interval.
const RETRIES_PER_INTERVAL: u32 = 8;

/// A failed renewal is tried again after this long at most.
const MAX_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What the holder has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Nothing before this instant.
    Wait(BootInstant),
    /// Send a renewal.
    Renew,
    /// Stop the run: its deadline has passed.
    Stop,
    /// Nothing: the lock is lost, or a renewal is under way past the deadline.
    Rest,
}

/// A held lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hold {
    deadline: Deadline,
    next: BootInstant,
    renewing: bool,
    /// Whether the run has to stop; never reset.
    lost: bool,
    /// Whether the store answered that the lock is lost: it cannot be renewed any more.
    gone: bool,
}

impl Hold {
    /// A lock that was granted by a claim sent at `sent`.
    pub(crate) fn granted(deadline: Deadline, sent: BootInstant) -> Self {
        Self {
            deadline,
            next: sent.plus(deadline.pace().renew_every()),
            renewing: false,
            lost: false,
            gone: false,
        }
    }

    /// Returns what to do now. `Stop` is returned once, `Renew` once per renewal.
    pub(crate) fn duty(&mut self, now: BootInstant) -> Duty {
        if self.gone {
            return Duty::Rest;
        }
        if !self.lost && self.deadline.is_over(now) {
            self.lost = true;
            return Duty::Stop;
        }
        if self.lost && !Protection::LateRenewal.is_on() {
            return Duty::Rest;
        }
        // Past the deadline a renewal does not revive the run, but processes that cannot be killed at once still need
        // the lock.
        let deadline = Some(self.deadline.at()).filter(|_| !self.lost);
        if self.renewing {
            return deadline.map_or(Duty::Rest, Duty::Wait);
        }
        if now < self.next {
            return Duty::Wait(deadline.map_or(self.next, |deadline| self.next.min(deadline)));
        }
        self.renewing = true;
        Duty::Renew
    }

    /// Records that the renewal sent at `sent` succeeded.
    pub(crate) fn renewed(&mut self, sent: BootInstant) {
        self.renewing = false;
        self.deadline = self.deadline.renewed(sent);
        self.next = sent.plus(self.deadline.pace().renew_every());
    }

    /// Records that the renewal got no answer, or one that requires another try.
    pub(crate) fn failed(&mut self, now: BootInstant) {
        self.renewing = false;
        let pause = (self.deadline.pace().renew_every() / RETRIES_PER_INTERVAL).min(MAX_RETRY_PAUSE);
        self.next = now.plus(pause);
    }

    /// Records that the store reports the lock as lost. True if the run had not been stopped for that before.
    pub(crate) fn lose(&mut self) -> bool {
        self.gone = true;
        self.renewing = false;
        !std::mem::replace(&mut self.lost, true)
    }

    /// Makes the next renewal due at once.
    pub(crate) fn hurry(&mut self, now: BootInstant) {
        self.next = self.next.min(now);
    }

    /// Whether the run has to stop because nothing proves any more that the lock is its own.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Returns the deadline of the run.
    pub(crate) fn deadline(&self) -> BootInstant {
        self.deadline.at()
    }

    /// Returns how much of the lease is left, counted from the last request that was answered.
    pub(crate) fn lease_left(&self, now: BootInstant) -> Duration {
        self.deadline.lease_end().since(now)
    }

    /// The time between SIGTERM and SIGKILL when the lock is lost.
    pub(crate) fn loss_grace(&self) -> Duration {
        self.deadline.pace().loss_grace()
    }
}

#[cfg(test)]
mod tests {
    use crate::lease::Pace;

    use super::*;

    fn at(ms: u64) -> BootInstant {
        BootInstant(Duration::from_millis(ms))
    }

    fn hold() -> Hold {
        let pace = Pace::new(Duration::from_secs(30), Duration::from_secs(10));
        Hold::granted(Deadline::granted(pace, at(0)), at(0))
    }

    #[test]
    fn it_renews_every_sixth_of_the_lease() {
        let mut hold = hold();
        assert_eq!(hold.duty(at(0)), Duty::Wait(at(5_000)));
        assert_eq!(hold.duty(at(5_000)), Duty::Renew);
        hold.renewed(at(5_000));
        assert_eq!(hold.duty(at(5_003)), Duty::Wait(at(10_000)));
    }

    #[test]
    fn a_failed_renewal_is_tried_again_until_the_deadline_and_then_the_run_stops() {
        let mut hold = hold();
        let mut now = at(5_000);
        let mut tries = 0;
        loop {
            match hold.duty(now) {
                Duty::Renew => {
                    tries += 1;
                    hold.failed(now);
                }
                Duty::Wait(until) => now = until,
                Duty::Stop => break,
                Duty::Rest => panic!("it must say that the run stops"),
            }
        }
        assert_eq!(now, at(23_700));
        assert!(tries > 20, "{tries}");
    }

    #[test]
    fn on_the_shortest_lease_renewals_that_get_no_answer_leave_room_for_further_tries() {
        let lease = Duration::from_secs(5);
        let pace = Pace::new(lease, Duration::from_secs(10));
        let mut hold = Hold::granted(Deadline::granted(pace, at(0)), at(0));
        let (mut now, mut tries) = (at(0), 0);
        loop {
            match hold.duty(now) {
                Duty::Renew => {
                    tries += 1;
                    // A request waits for its answer as long as the renewal interval.
                    now = now.plus(pace.renew_every());
                    hold.failed(now);
                }
                Duty::Wait(until) => now = until,
                Duty::Stop => break,
                Duty::Rest => panic!("it must say that the run stops"),
            }
        }
        assert_eq!(tries, 3);
    }

    #[test]
    fn a_renewal_under_way_does_not_hide_the_deadline() {
        let mut hold = hold();
        assert_eq!(hold.duty(at(5_000)), Duty::Renew);
        assert_eq!(hold.duty(at(5_001)), Duty::Wait(at(23_700)));
        assert_eq!(hold.duty(at(23_700)), Duty::Stop);
        assert_eq!(hold.duty(at(23_701)), Duty::Rest);
    }

    #[test]
    fn past_the_deadline_it_still_renews_for_what_cannot_be_killed_and_revives_nothing() {
        let mut hold = hold();
        assert_eq!(hold.duty(at(5_000)), Duty::Renew);
        hold.failed(at(5_000));
        assert_eq!(hold.duty(at(23_700)), Duty::Stop);
        assert_eq!(hold.duty(at(23_700)), Duty::Renew);
        hold.renewed(at(23_700));
        assert_eq!(hold.duty(at(23_701)), Duty::Wait(at(28_700)));
        assert!(hold.is_lost());
        assert!(!hold.lose(), "it was lost before");
        assert_eq!(hold.duty(at(28_700)), Duty::Rest);
    }

    #[test]
    fn what_is_left_of_the_lease_counts_from_the_last_request_that_was_answered() {
        let mut hold = hold();
        assert_eq!(hold.lease_left(at(5_100)), Duration::from_millis(24_900));
        hold.renewed(at(5_000));
        assert_eq!(hold.lease_left(at(10_100)), Duration::from_millis(24_900));
        assert_eq!(hold.lease_left(at(40_000)), Duration::ZERO);
    }

    #[test]
    fn a_loss_is_news_once() {
        let mut hold = hold();
        assert!(hold.lose());
        assert!(!hold.lose());
        assert_eq!(hold.duty(at(1)), Duty::Rest);
    }
}
