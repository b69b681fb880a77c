//! How a reload of jobs.toml changes a job's `Contest`. A claim under way was made by the former definition, and
//! carries its lease: what it is granted is abandoned, and never started by the new one.

use std::sync::Arc;

use crate::job::{JobSpec, NodeName, OnInterrupt, Reason};
use crate::lease::{Abandon, Answer, Dropped, holds_from};
use crate::time::{BootInstant, UtcMillis};

use super::super::action::{Action, Bid, Finding, Wanted};
use super::{ClaimState, Contest};

impl Contest {
    /// Returns the state of a job that was not scheduled before `now`, as far as this replica knows. `begun` is the
    /// same instant by the boot clock.
    pub fn since(spec: Arc<JobSpec>, node: NodeName, now: UtcMillis, begun: BootInstant) -> Self {
        Self { since: now, delayed_by: Some(Reason::Edited), ..Self::new(spec, node, begun) }
    }

    /// Returns since when this replica has scheduled the job as it does, or has not scheduled it.
    pub fn begun(&self) -> BootInstant {
        self.begun
    }

    /// Whether the job is not scheduled.
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// Takes over a new definition with the same schedule: the pending tick is claimed by it.
    pub fn revise(&mut self, spec: Arc<JobSpec>) {
        let before = std::mem::replace(&mut self.spec, spec);
        self.changed_lease();
        match (before.on_interrupt, self.spec.on_interrupt) {
            (_, OnInterrupt::Skip) => self.hear_of_rerun(None, self.since),
            // The run that is going did not matter before: opening the record reports it.
            (OnInterrupt::Skip, OnInterrupt::Rerun) => self.close(),
            (OnInterrupt::Rerun, OnInterrupt::Rerun) => {}
        }
        self.outdate(Wanted::Anew);
    }

    /// Takes over a new definition with another schedule, which holds from `now` on (`begun` by the boot clock).
    /// Returns the run to abandon, which may have been granted and was not started.
    pub fn restart(&mut self, spec: Arc<JobSpec>, now: UtcMillis, begun: BootInstant) -> Option<Abandon> {
        self.end_schedule(now, begun);
        self.revise(spec);
        self.retired = false;
        self.since = self.since.max(holds_from(now, self.decided));
        self.hear_of_rerun(None, now);
        let doubt = self.drop_tick();
        self.delayed_by = Some(Reason::Edited);
        doubt
    }

    /// Ends the job's schedule at `now` (`begun` by the boot clock). Returns the run to abandon, which may have been
    /// granted and was not started.
    pub fn retire(&mut self, now: UtcMillis, begun: BootInstant) -> Option<Abandon> {
        self.end_schedule(now, begun);
        self.retired = true;
        self.hear_of_rerun(None, self.since);
        self.drop_tick()
    }

    /// Ends the schedule: the record has to show that, and which ticks are left undecided.
    fn end_schedule(&mut self, now: UtcMillis, begun: BootInstant) {
        if !self.retired {
            self.dropped = self.proposal().left_by(now).or(self.dropped);
        }
        self.begun = begun;
        self.close();
    }

    /// Returns the ticks that the former schedule left undecided, as long as the record does not have them.
    pub(in crate::replica) fn dropped(&self) -> Option<Dropped> {
        self.dropped
    }

    /// Drops the pending bid; a claim under way is dropped when its answer comes.
    fn drop_tick(&mut self) -> Option<Abandon> {
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

    /// Processes the answer to the claim of a tick whose schedule has ended.
    pub(super) fn answered_in_vain(
        &mut self,
        bid: &Bid,
        answer: &Answer,
        now: UtcMillis,
    ) -> (Option<Finding>, Action) {
        match answer {
            Answer::Won { .. } => {
                // A tick that has not come yet may be one of the present schedule as well.
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
            _ => (None, self.give_up(bid, bid.request.unsure)),
        }
    }

    /// Drops the bid, and abandons what it may have been granted.
    pub(super) fn give_up(&mut self, bid: &Bid, may_hold: bool) -> Action {
        self.forget();
        // The claim may have written the former schedule to the record after that was opened with the present one.
        self.close();
        if may_hold { Action::GiveBack(bid.abandon()) } else { Action::Nothing }
    }
}

/// Returns the bid by the job's present definition, and the run to abandon before it is claimed.
pub(super) fn up_to_date(bid: Bid, instead_of: Option<Abandon>) -> (Bid, Option<Abandon>) {
    if bid.wanted == Wanted::AsItIs {
        return (bid, instead_of);
    }
    let doubt = bid.request.unsure.then(|| bid.abandon());
    (Bid::new(bid.tick), doubt.or(instead_of))
}
