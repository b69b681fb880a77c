//! The pending bid of a `Contest`: its tick, whether its claim is under way, and whether it may have been granted
//! without an answer.

use std::time::Duration;

use crate::job::{Reason, Tick};
use crate::lease::{Abandon, Claim};
use crate::time::UtcMillis;

use super::super::action::{Action, Bid};
use super::{ClaimState, Contest};

/// Correct clocks differ by less than this, and an answer usually takes less.
const HELD_UP: Duration = Duration::from_secs(1);

impl Contest {
    /// Returns the tick of the pending bid.
    pub fn tick(&self) -> Option<Tick> {
        match &self.state {
            ClaimState::Waiting { bid, .. } | ClaimState::Asking { bid } => Some(bid.tick),
            ClaimState::Idle => None,
        }
    }

    /// Returns the tick of the pending bid, while no claim of it is under way.
    pub fn waits_for(&self) -> Option<Tick> {
        self.tick().filter(|_| !self.is_asking())
    }

    /// Whether a grant that arrives now is too late to start: the tick's start deadline has long been over, because the
    /// process was held up.
    pub fn is_overdue(&self, now: UtcMillis) -> bool {
        let ClaimState::Asking { bid } = &self.state else { return false };
        let may_be_late = bid.catch_up || self.is_rerun(bid.tick);
        // The store decided by its own clock that the tick was in time.
        let limit = self.spec.start_deadline_of(bid.tick) + HELD_UP;
        !may_be_late && now.since(bid.tick.instant()) > limit
    }

    /// Whether a claim is under way, and none of its bid has failed yet.
    pub fn first_failure(&self) -> bool {
        matches!(&self.state, ClaimState::Asking { bid } if bid.failures == 0)
    }

    /// Notes whether the claim under way is a catch-up, and its era.
    pub(in crate::replica) fn claims(&mut self, claim: &Claim) {
        if let ClaimState::Asking { bid } = &mut self.state {
            bid.catch_up = claim.catch_up;
            bid.request.sent_in(&claim.caller.era);
        }
    }

    /// Ends the wait of the pending bid: what it waits for may have happened.
    pub fn hurry(&mut self, now: UtcMillis) {
        self.set_no_alarm();
        if let ClaimState::Waiting { until, .. } = &mut self.state {
            *until = now.min(*until);
        }
    }

    /// Drops the pending bid.
    pub fn forget(&mut self) {
        self.state = ClaimState::Idle;
    }

    /// Notes that the tick is open again, because nothing was started for it.
    pub(in crate::replica) fn given_back(&mut self, tick: Tick) {
        let before = UtcMillis(tick.as_millis() - 1);
        (self.decided, self.answered) = (self.decided.min(before), self.answered.min(before));
        self.ran.forget_after(before);
        self.was_not_cut_short(tick);
    }

    /// Notes that a granted tick could not start, as a run of the job is still going here.
    pub(in crate::replica) fn refuse(&mut self, tick: Tick) {
        self.given_back(tick);
        (self.refused, self.delayed_by) = (Some(tick), Some(Reason::Late));
    }

    /// Notes that no run of the job is going here any more.
    pub(in crate::replica) fn own_run_is_over(&mut self) {
        self.refused = None;
        self.own_run_ended = true;
    }

    /// Abandons a grant that came too late, and claims its tick again under another run id.
    pub(super) fn too_late(&mut self, bid: &Bid, tries: u32, now: UtcMillis) -> Action {
        match tries > 1 {
            true => self.cut_short_here(bid.tick, None, now),
            false => self.given_back(bid.tick),
        }
        self.ask(Bid::new(bid.tick), Some(bid.abandon()))
    }

    /// Whether a claim is under way.
    pub fn is_asking(&self) -> bool {
        matches!(self.state, ClaimState::Asking { .. })
    }

    /// Returns the run whose claim may have been applied although no answer came.
    pub fn doubt(&self) -> Option<Abandon> {
        match &self.state {
            ClaimState::Waiting { bid, .. } | ClaimState::Asking { bid } if bid.request.unsure => {
                Some(bid.abandon())
            }
            _ => None,
        }
    }
}
