//! What becomes of a job's contest when jobs.toml is loaded again. A claim under way was made by the former definition,
//! and tells of its lease: whatever it is granted is given back, and never started by the new one.

use std::sync::Arc;

use crate::hold::give_back::Doubt;
use crate::job::{JobSpec, OnInterrupt, Reason};
use crate::lease::{Answer, Dropped, holds_from};
use crate::time::{BootInstant, UtcMillis};

use super::super::action::{Action, Bid, Finding, Wanted};
use super::{ClaimState, Contest};

impl Contest {
    /// A job that was not scheduled before `now`, at `begun`, as far as this replica knows.
    pub fn since(spec: Arc<JobSpec>, now: UtcMillis, begun: BootInstant) -> Self {
        Self { since: now, delayed_by: Some(Reason::Edited), ..Self::new(spec, begun) }
    }

    /// Since when this replica has scheduled the job as it does, or has not scheduled it.
    pub fn begun(&self) -> BootInstant {
        self.begun
    }

    /// Whether the job is not scheduled.
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// The job is defined anew, and its ticks stay what they are: the one at hand is claimed by the new definition.
    pub fn revise(&mut self, spec: Arc<JobSpec>) {
        let before = std::mem::replace(&mut self.spec, spec);
        self.changed_lease();
        match (before.on_interrupt, self.spec.on_interrupt) {
            (_, OnInterrupt::Skip) => self.hear_of_rerun(None, self.since),
            // The run that goes on was of no interest before: opening the record tells of it.
            (OnInterrupt::Skip, OnInterrupt::Rerun) => self.close(),
            (OnInterrupt::Rerun, OnInterrupt::Rerun) => {}
        }
        self.outdate(Wanted::Anew);
    }

    /// The job is defined anew, and its ticks are others, from `now` on, which is `begun`. What may have been granted and
    /// was not started has to be given back.
    pub fn restart(&mut self, spec: Arc<JobSpec>, now: UtcMillis, begun: BootInstant) -> Option<Doubt> {
        self.end_schedule(now, begun);
        self.revise(spec);
        self.retired = false;
        self.since = self.since.max(holds_from(now, self.decided));
        self.hear_of_rerun(None, now);
        let doubt = self.drop_tick();
        self.delayed_by = Some(Reason::Edited);
        doubt
    }

    /// The job is not scheduled any more, from `now` on, which is `begun`. What may have been granted and was not started has to be given
    /// back.
    pub fn retire(&mut self, now: UtcMillis, begun: BootInstant) -> Option<Doubt> {
        self.end_schedule(now, begun);
        self.retired = true;
        self.hear_of_rerun(None, self.since);
        self.drop_tick()
    }

    /// The schedule is over: the record has to know that, and what is left of it.
    fn end_schedule(&mut self, now: UtcMillis, begun: BootInstant) {
        if !self.retired {
            self.dropped = self.proposal().left_by(now).or(self.dropped);
        }
        self.begun = begun;
        self.close();
    }

    /// What was left of the schedule before, and the record does not know yet.
    pub(in crate::replica) fn dropped(&self) -> Option<Dropped> {
        self.dropped
    }

    /// Gives up the tick at hand; the answer to a claim under way is waited for.
    fn drop_tick(&mut self) -> Option<Doubt> {
        self.called.clear();
        if self.is_asking() {
            self.outdate(Wanted::NoMore);
            return None;
        }
        self.outdate(Wanted::NoMore);
        let doubt = self.doubt();
        self.forget();
        doubt
    }

    fn outdate(&mut self, left: Wanted) {
        if let ClaimState::Waiting { bid, .. } | ClaimState::Asking { bid } = &mut self.state
            && bid.wanted != Wanted::NoMore
        {
            bid.wanted = left;
        }
    }

    /// The store answered the claim of a tick that is none any more.
    pub(super) fn answered_in_vain(
        &mut self,
        bid: &Bid,
        answer: &Answer,
        now: UtcMillis,
    ) -> (Option<Finding>, Action) {
        match answer {
            Answer::Won { .. } => {
                // What has not come yet may be a tick of the present schedule as well.
                if now < bid.tick.instant() {
                    self.given_back(bid.tick);
                }
                (None, self.give_up(bid, true))
            }
            Answer::Decided { by, how } => {
                let finding = Finding::Decided { by: by.clone(), how: *how };
                (Some(finding), self.give_up(bid, false))
            }
            Answer::Consumed(verdict) => (Some(Finding::Consumed(*verdict)), self.give_up(bid, false)),
            _ => (None, self.give_up(bid, bid.unsure)),
        }
    }

    /// Nothing more is asked for the bid; what it may have been granted is given back.
    pub(super) fn give_up(&mut self, bid: &Bid, may_hold: bool) -> Action {
        self.forget();
        // The claim may have told the record of the former schedule after the record was opened under the present one.
        self.close();
        if may_hold { Action::GiveBack(bid.doubt()) } else { Action::Nothing }
    }
}

/// A bid by the job's present definition, and what has to be given back before it is claimed.
pub(super) fn up_to_date(bid: Bid, instead_of: Option<Doubt>) -> (Bid, Option<Doubt>) {
    if bid.wanted == Wanted::AsItIs {
        return (bid, instead_of);
    }
    let doubt = bid.unsure.then(|| bid.doubt());
    (Bid::new(bid.tick), doubt.or(instead_of))
}
