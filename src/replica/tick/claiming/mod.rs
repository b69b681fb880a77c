//! One job's tick on one replica, from when it may be claimed until it is known how it was decided. Pure: a step takes
//! what happened and the time, and returns what to do.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobSpec, NodeName, Overlap, Reason, Tick};
use crate::lease::{Abandon, Answer, Dropped, Reply};
use crate::replica::recovery::registration::Registration;
use crate::replica::tick::backoff;
use crate::time::{BootInstant, UtcMillis};

use super::action::{Action, Bid, Finding, LockRequest, LockTerms, Wanted, Won};
use super::eligibility::Eligibility;
use super::request::cause_of;

mod early;
mod hinted;
mod leases;
mod marks;
mod pending;
mod redefine;
mod rerun;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use early::asked_ahead;
use hinted::Hearsay;
use leases::Leases;
use marks::{DecidedAhead, RanTicks, is_done};
use redefine::up_to_date;
use rerun::RerunLeft;

#[derive(Debug, Clone, PartialEq, Eq)]
enum ClaimState {
    /// No bid is pending.
    Idle,
    /// A bid is pending, and will be claimed at this instant.
    Waiting { bid: Bid, until: UtcMillis },
    /// The claim of the pending bid is under way.
    Asking { bid: Bid },
}

/// What this replica knows of one job, and the bid that it makes for its tick.
#[derive(Debug)]
pub struct Contest {
    spec: Arc<JobSpec>,
    /// The name of this replica.
    node: NodeName,
    /// Whether this replica may take the job's ticks.
    pub(crate) standing: Eligibility,
    /// Every tick up to here is known to be decided.
    pub(crate) decided: UtcMillis,
    /// The ticks known to have run.
    ran: RanTicks,
    /// The newest mark in an answer to this replica.
    pub(crate) answered: UtcMillis,
    ahead: DecidedAhead,
    /// The newest tick that has not come yet, and does not run when it comes, as the record showed when it was last
    /// opened.
    pub(crate) closed_ahead: Option<UtcMillis>,
    /// Which leases of the job may be held.
    leases: Leases,
    /// Whether a heartbeat has listed a run of the job: then the cluster knows the job.
    pub(crate) is_known: bool,
    opening: Registration,
    state: ClaimState,
    /// Why the pending tick has not been decided yet; becomes the reason of ticks that are passed over.
    pub(crate) delayed_by: Option<Reason>,
    /// A granted tick that could not start here, as a run of the job was still going: it is not claimed again until that is
    /// over.
    refused: Option<Tick>,
    /// When this replica last found, with this job to look at, that the store does not answer.
    pub(crate) unheard_at: UtcMillis,
    /// When a claim last failed and certainly was not applied: until then the store may have refused the holder's end as well.
    pub(super) refused_at: UtcMillis,
    /// Whether a run of the job here was recorded since the last claim was sent: an answer that the lock is held may be of the
    /// time before.
    own_run_ended: bool,
    /// From when the job has its present schedule, by what this replica has loaded or the record shows: older ticks
    /// start nothing.
    since: UtcMillis,
    /// Since when, by the boot clock, this replica has scheduled the job so, or has not scheduled it.
    begun: BootInstant,
    /// Ticks that the former schedule left undecided, until the record has them.
    dropped: Option<Dropped>,
    /// The job is not scheduled. It stays here for what is known of its record, which has to be opened to show that.
    retired: bool,
    /// The tick that may run once more, as its run was interrupted.
    rerun: RerunLeft,
    /// The newest tick whose rerun another replica is known to have taken, or which is known to have none left.
    rerun_over: UtcMillis,
    /// The next ticks to claim ahead of their instants, and from when on.
    called: Vec<(Tick, UtcMillis)>,
    /// What hints reported of other replicas' claims.
    hearsay: Hearsay,
}

impl Contest {
    /// Returns the state of a job on the replica `node`, which starts at `begun`: its record is not open yet. A job
    /// that is not enabled starts retired.
    pub fn new(spec: Arc<JobSpec>, node: NodeName, begun: BootInstant) -> Self {
        Self {
            leases: Leases::of(spec.lease),
            standing: Eligibility::default(),
            decided: UtcMillis(0),
            ran: RanTicks::default(),
            answered: UtcMillis(0),
            ahead: DecidedAhead::default(),
            closed_ahead: None,
            is_known: false,
            opening: Registration::default(),
            state: ClaimState::Idle,
            delayed_by: None,
            refused: None,
            unheard_at: UtcMillis(0),
            refused_at: UtcMillis(0),
            own_run_ended: false,
            since: UtcMillis(0),
            begun,
            dropped: None,
            retired: !spec.enabled,
            spec,
            node,
            rerun: RerunLeft::default(),
            rerun_over: UtcMillis(0),
            called: Vec::new(),
            hearsay: Hearsay::default(),
        }
    }

    /// The job's definition.
    pub fn spec(&self) -> &Arc<JobSpec> {
        &self.spec
    }

    /// Returns for how long the tick whose claim is to be sent is late; `None` if no claim is to be sent, or its tick has not
    /// come.
    pub(crate) fn waits_since(&self, now: UtcMillis) -> Option<Duration> {
        match &self.state {
            ClaimState::Waiting { bid, .. } if bid.tick.instant() <= now => {
                Some(now.since(bid.tick.instant()))
            }
            ClaimState::Waiting { .. } | ClaimState::Idle | ClaimState::Asking { .. } => None,
        }
    }

    /// Whether the job's record still has to be opened.
    pub fn is_unopened(&self) -> bool {
        !self.opening.is_open()
    }

    /// Whether to log now that nothing can be claimed: `true` at most once a minute.
    pub fn may_complain(&mut self, now: UtcMillis) -> bool {
        self.opening.may_complain(now)
    }

    /// Returns what to do now: a tick's instant, or a wait, may be over. `stagger` returns how long after a tick's
    /// instant this replica claims it.
    pub fn wake(&mut self, now: UtcMillis, stagger: impl FnOnce(Tick) -> Duration) -> Action {
        if self.is_unopened() || self.is_asking() || self.retired {
            return Action::Nothing;
        }
        if let ClaimState::Waiting { bid, until } = &self.state
            && bid.request.unsure
            && bid.tick.instant() <= self.decided
        {
            // The mark may come from this bid's own claim: only another claim shows whether this replica has the lock.
            let (bid, until) = (bid.clone(), *until);
            return if now < until { Action::WakeAt(until) } else { self.ask(bid, None) };
        }
        let Some(tick) = self.tick_at_hand(now) else {
            let doubt = self.doubt();
            self.rest();
            let next = doubt.map_or_else(|| self.look_again(now), Action::GiveBack);
            return self.or_rerun(next, now);
        };
        let (goes_first, stagger) = (self.is_rerun(tick), stagger(tick));
        match &mut self.state {
            // A tick that has waited for the lock too long is decided as missed before the next tick waits.
            ClaimState::Waiting { bid, until }
                if bid.tick == tick
                    || bid.waited && bid.tick < tick && bid.tick.instant() > self.decided && !goes_first =>
            {
                let is_fit_now = bid.unfit.is_some() && self.standing == Eligibility::Takes;
                if now < *until && !is_fit_now {
                    return Action::WakeAt(*until);
                }
                let bid = bid.clone();
                self.ask_or_put_off(bid, None, stagger, now)
            }
            _ => {
                let instead_of = self.doubt();
                let bid = Bid::new(tick);
                let at = self.asked_at(tick, stagger, now);
                if now < at && instead_of.is_none() {
                    return self.wait(bid, at);
                }
                self.ask_or_put_off(bid, instead_of, stagger, now)
            }
        }
    }

    fn ask(&mut self, bid: Bid, instead_of: Option<Abandon>) -> Action {
        let (bid, instead_of) = up_to_date(bid, instead_of);
        // A claim that may have been granted is repeated as it was.
        let unfit = if bid.request.unsure { bid.unfit } else { self.excuse(bid.tick) };
        let bid = Bid { unfit, ..bid };
        self.state = ClaimState::Asking { bid: bid.clone() };
        self.own_run_ended = false;
        Action::Claim { bid, instead_of }
    }

    fn wait(&mut self, bid: Bid, until: UtcMillis) -> Action {
        self.state = ClaimState::Waiting { bid, until };
        Action::WakeAt(until)
    }

    fn rest(&mut self) -> Action {
        self.state = ClaimState::Idle;
        Action::Nothing
    }

    /// Processes the answer to the claim sent at `sent`. `in_time` is false when a grant must not start a run any more.
    pub fn answered(
        &mut self,
        reply: &Reply,
        now: UtcMillis,
        sent: BootInstant,
        in_time: bool,
    ) -> (Option<Finding>, Action) {
        let ClaimState::Asking { bid } = self.state.clone() else { return (None, Action::Nothing) };
        let ran = match &reply.answer {
            Answer::Won { .. } => true,
            Answer::Decided { by, how } => is_done(by.as_ref(), *how),
            Answer::Consumed(verdict) => is_done(None, Some(*verdict)),
            _ => false,
        };
        self.learn_mark(reply.mark.unwrap_or(UtcMillis(0)), now, Some(bid.tick).filter(|_| ran));
        self.saw(reply.lease);
        let is_rerun = self.is_rerun(bid.tick);
        self.hear_of_rerun(reply.rerun.as_ref(), now);
        if bid.wanted == Wanted::NoMore {
            return self.answered_in_vain(&bid, &reply.answer, now);
        }
        let in_time = in_time && bid.wanted == Wanted::AsItIs;
        let again = Self::not_beyond_its_instant(&bid, now, now.plus(backoff::after_failures(0)));
        match &reply.answer {
            Answer::Won { tries, .. } if !in_time => (None, self.too_late(&bid, *tries, now)),
            Answer::Won { tries, .. } => {
                self.settled(&bid, is_rerun, now);
                let cause = cause_of(bid.catch_up, *tries);
                let terms = LockTerms::of_job(&self.spec, &self.node);
                let won = bid.request.won(reply, bid.tick, cause, terms).expect("the answer is a grant");
                (None, Action::Start { won: Won { waited: bid.waited, ..won }, sent })
            }
            Answer::Early { wait } => {
                self.delayed_by = self.delayed_by.or(bid.unfit);
                (None, self.wait(bid.sure(), now.plus(*wait)))
            }
            Answer::Held { by, frees_in } => {
                if by.is_none() && self.ahead.lies_ahead(now) {
                    // The record may be new, and lack what a clock that was ahead has decided.
                    self.close();
                }
                let waits = self.spec.overlap != Overlap::Skip;
                // Without a holder the lock waits for one that the store may have forgotten.
                let held_up = if waits || by.is_none() { Reason::Late } else { Reason::Overlap };
                // Older undecided ticks keep the reason that they already have.
                if !is_rerun {
                    let is_first = !self.proposal().skips_any(bid.tick);
                    let reason = if is_first { held_up } else { self.proposal().gap_reason(&bid) };
                    self.delayed_by = Some(reason);
                } else if !self.proposal().skips_any(Tick(now)) {
                    // Ticks that come from now on wait for the rerun.
                    self.delayed_by = self.delayed_by.or(Some(Reason::Late));
                }
                let pause = if self.own_run_ended {
                    Duration::ZERO
                } else {
                    backoff::while_held(&self.spec, bid.tick, *frees_in, now)
                };
                let bid = Bid { waited: waits && !is_rerun, ..bid.held(by.as_ref()) };
                (Some(Finding::Held(by.clone())), self.wait(bid, now.plus(pause)))
            }
            Answer::Decided { by, how } => {
                let decided = Finding::Decided { by: by.clone(), how: *how };
                let finding = if is_rerun { self.rerun_denied(bid.tick, *how, now) } else { None };
                (finding.or(Some(decided)), self.settled(&bid, is_rerun, now))
            }
            Answer::Consumed(verdict) => {
                (Some(Finding::Consumed(*verdict)), self.settled(&bid, is_rerun, now))
            }
            Answer::NewerSchema(schema) => {
                (Some(Finding::NewerSchema(*schema)), self.wait(bid.sure(), now.plus(backoff::SCHEMA)))
            }
            Answer::NewEra(_) | Answer::Unsynced => {
                if reply.answer != Answer::Unsynced {
                    self.close();
                }
                self.wait(bid, again);
                (None, Action::Resync(again))
            }
            // These do not answer a claim.
            Answer::Opened { .. }
            | Answer::Renewed { .. }
            | Answer::Lost
            | Answer::Finished
            | Answer::AlreadyDecided
            | Answer::Abandoned
            | Answer::Noted
            | Answer::NoRecord => (None, self.wait(bid, again)),
        }
    }

    fn settled(&mut self, bid: &Bid, is_rerun: bool, now: UtcMillis) -> Action {
        self.decide(bid.tick.instant(), false);
        // Ticks that came while this one waited may be too late by now, and so may those that come while these are
        // decided one by one. A rerun changes nothing for newer ticks.
        let next = self.spec.schedule.next_after(bid.tick.instant()).map(Tick::instant);
        let is_behind = next.is_some_and(|next| next <= now);
        // Those that came after an outage are not late because of it.
        let is_past_outage = !is_rerun && next.is_some_and(|next| next > self.unheard_at);
        let delay = match self.delayed_by.filter(|_| is_rerun || is_behind) {
            Some(Reason::StoreUnreachable) if is_past_outage => Some(Reason::Late),
            // This replica was there, and waited.
            Some(Reason::NoReplica) if !is_rerun => Some(Reason::Late),
            delay => delay,
        };
        self.delayed_by = delay.or(bid.waited.then_some(Reason::Late));
        self.rest()
    }

    /// Handles a claim that failed. `may_have_been_applied`: it got no answer, but may have reached the store.
    pub fn failed(&mut self, may_have_been_applied: bool, now: UtcMillis) -> Action {
        let ClaimState::Asking { bid } = self.state.clone() else { return Action::Nothing };
        (self.delayed_by, self.unheard_at) = (Some(Reason::StoreUnreachable), now);
        if !may_have_been_applied {
            self.refused_at = now;
        }
        let pause = backoff::after_failures(bid.failures);
        let unsure = bid.request.unsure || (may_have_been_applied && bid.unfit.is_none());
        if bid.wanted == Wanted::NoMore {
            return self.give_up(&bid, unsure);
        }
        let again = Self::not_beyond_its_instant(&bid, now, now.plus(pause));
        let request = LockRequest { unsure, ..bid.request };
        self.wait(Bid { request, failures: bid.failures + 1, ..bid }, again)
    }
}
