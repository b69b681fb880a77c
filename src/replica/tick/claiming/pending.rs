//! The bid at hand of a contest: its tick, whether it is under way, and whether it may hold the lock unheard.

use std::time::Duration;

use crate::hold::give_back::Doubt;
use crate::job::Tick;
use crate::lease::Claim;
use crate::time::UtcMillis;

use super::super::action::{Action, Bid};
use super::{ClaimState, Contest};

/// Clocks that are right differ less, and answers that come as usual take less.
const HELD_UP: Duration = Duration::from_secs(1);

impl Contest {
    /// The tick at hand.
    pub fn tick(&self) -> Option<Tick> {
        match &self.state {
            ClaimState::Waiting { bid, .. } | ClaimState::Asking { bid } => Some(bid.tick),
            ClaimState::Idle => None,
        }
    }

    /// The tick at hand, while no claim of it is under way.
    pub fn waits_for(&self) -> Option<Tick> {
        self.tick().filter(|_| !self.is_asking())
    }

    /// Whether the start deadline of the tick that is asked for has long been over by now: who hears of its grant only then
    /// was held up meanwhile, and starts nothing.
    pub fn is_overdue(&self, now: UtcMillis) -> bool {
        let ClaimState::Asking { bid } = &self.state else { return false };
        let may_be_late = bid.catch_up || self.is_rerun(bid.tick);
        // The store has decided by its own clock that it was in time.
        let limit = self.spec.start_deadline_of(bid.tick) + HELD_UP;
        !may_be_late && now.since(bid.tick.instant()) > limit
    }

    /// Whether no claim of the bid at hand has failed yet.
    pub fn first_failure(&self) -> bool {
        matches!(&self.state, ClaimState::Asking { bid } if bid.failures == 0)
    }

    /// What the claim under way says of its cause and of the store's life; one that may have been applied before keeps
    /// its own life.
    pub(in crate::replica) fn claims(&mut self, claim: &Claim) {
        if let ClaimState::Asking { bid } = &mut self.state {
            bid.catch_up = claim.catch_up;
            if !bid.unsure {
                bid.era = claim.caller.era.clone();
            }
        }
    }

    /// Something happened that the wait at hand waited for.
    pub fn hurry(&mut self, now: UtcMillis) {
        self.set_no_alarm();
        if let ClaimState::Waiting { until, .. } = &mut self.state {
            *until = now.min(*until);
        }
    }

    /// Gives up the bid at hand.
    pub fn forget(&mut self) {
        self.state = ClaimState::Idle;
    }

    /// Nothing was started for the tick, and it is open again.
    pub(in crate::replica) fn given_back(&mut self, tick: Tick) {
        let before = UtcMillis(tick.as_millis() - 1);
        (self.decided, self.answered) = (self.decided.min(before), self.answered.min(before));
        self.ran_up_to(before);
        self.was_not_cut_short(tick);
    }

    /// The tick is given back, and then claimed anew under another run id.
    pub(super) fn too_late(&mut self, bid: &Bid, tries: u32, now: UtcMillis) -> Action {
        match tries > 1 {
            true => self.cut_short_here(bid.tick, None, now),
            false => self.given_back(bid.tick),
        }
        self.ask(Bid::new(bid.tick), Some(bid.doubt()))
    }

    /// Whether a claim is under way.
    pub fn is_asking(&self) -> bool {
        matches!(self.state, ClaimState::Asking { .. })
    }

    /// The run whose claim may have been applied although no answer came.
    pub fn doubt(&self) -> Option<Doubt> {
        match &self.state {
            ClaimState::Waiting { bid, .. } | ClaimState::Asking { bid } if bid.unsure => Some(bid.doubt()),
            _ => None,
        }
    }
}
