//! One job's tick on one replica, from its instant until it is known how it was decided. Pure: a step takes what
//! happened and the time, and says what to do.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{Cause, JobSpec, Reason, Tick, UtcMillis};
use crate::lease::{Answer, BootInstant, Era, Reply, ScheduleHash};

use super::action::{Action, Bid, Doubt, Finding, Won};

use super::memory::Known;
use super::opening::Opening;
use super::proposal::{Proposal, is_catch_up};

/// A store that did not answer is asked again after this long, twice as long each time.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A held lock is asked for again after this part of the lease: its holder renews as often.
const ASKS_PER_LEASE: u32 = 6;

/// However soon the holder's time seems over, it is not asked for more often than this.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// A record of a newer release is looked at again after this long.
const SCHEMA_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// No tick is due.
    Idle,
    /// A tick is due, and will be claimed at this instant.
    Waiting { bid: Bid, until: UtcMillis },
    /// A claim is under way.
    Asking { bid: Bid },
}

/// One job on this replica.
#[derive(Debug)]
pub struct Contest {
    spec: Arc<JobSpec>,
    /// Every tick up to here is known to be decided.
    decided: UtcMillis,
    opening: Opening,
    state: State,
    /// Why the tick at hand has not been decided yet: becomes the reason of ticks that are passed over.
    delayed_by: Option<Reason>,
}

impl Contest {
    /// A job whose record has not been opened yet.
    pub fn new(spec: Arc<JobSpec>) -> Self {
        Self {
            spec,
            decided: UtcMillis(0),
            opening: Opening::default(),
            state: State::Idle,
            delayed_by: None,
        }
    }

    /// The job.
    pub fn spec(&self) -> &Arc<JobSpec> {
        &self.spec
    }

    /// Whether the job's record still has to be opened.
    pub fn is_unopened(&self) -> bool {
        !self.opening.is_open()
    }

    /// The tick at hand.
    pub fn tick(&self) -> Option<Tick> {
        match &self.state {
            State::Waiting { bid, .. } | State::Asking { bid } => Some(bid.tick),
            State::Idle => None,
        }
    }

    /// Whether no claim of the bid at hand has failed yet.
    pub fn first_failure(&self) -> bool {
        matches!(&self.state, State::Asking { bid } if bid.failures == 0)
    }

    /// The claim under way is made in this life of the store; one that may have been applied before keeps its own.
    pub(super) fn claims_in(&mut self, era: &Era) {
        if let State::Asking { bid } = &mut self.state
            && !bid.unsure
        {
            bid.era = era.clone();
        }
    }

    /// Gives up the bid at hand.
    pub fn forget(&mut self) {
        self.state = State::Idle;
    }

    /// Whether a claim is under way.
    pub fn is_asking(&self) -> bool {
        matches!(self.state, State::Asking { .. })
    }

    /// The run whose claim may have been applied although no answer came.
    pub fn doubt(&self) -> Option<Doubt> {
        match &self.state {
            State::Waiting { bid, .. } | State::Asking { bid } if bid.unsure => Some(bid.doubt()),
            _ => None,
        }
    }

    /// The store lives another life, or forgot: the record has to be opened before the next claim.
    pub fn close(&mut self) {
        self.opening.set(false);
    }

    /// Nothing is claimed until the store answers. The tick whose instant has just come, if worth a complaint.
    pub fn unheard(&mut self, now: UtcMillis) -> Option<Tick> {
        self.delayed_by = Some(Reason::StoreUnreachable);
        self.opening.unheard(&self.spec.schedule, now)
    }

    /// Whether it is worth another complaint that nothing can be claimed.
    pub fn may_complain(&mut self, now: UtcMillis) -> bool {
        self.opening.may_complain(now)
    }

    /// The record is open; its mark tells what is decided. Under another schedule, the new one starts now.
    pub fn opened(&mut self, mark: UtcMillis, sched: &ScheduleHash, now: UtcMillis) {
        let same = sched.0 == self.spec.schedule.fingerprint();
        self.decided = self.decided.max(if same { mark } else { mark.max(now) });
        self.opening.set(true);
        self.hurry(now);
    }

    /// Something happened that the wait at hand waited for.
    pub fn hurry(&mut self, now: UtcMillis) {
        if let State::Waiting { until, .. } = &mut self.state {
            *until = now.min(*until);
        }
    }

    /// The oldest tick that may still start, or else the newest one, which has to be decided all the same.
    fn candidate(&self, now: UtcMillis) -> Option<Tick> {
        let schedule = &self.spec.schedule;
        let newest = schedule.at_or_before(now).filter(|tick| tick.instant() > self.decided)?;
        let Some(limit) = self.spec.start_deadline else { return Some(newest) };
        let in_time = now.minus(limit + Duration::from_millis(1)).max(self.decided);
        Some(schedule.next_after(in_time).map_or(newest, |oldest| oldest.min(newest)))
    }

    /// Time has passed: a tick's instant, or a wait, may be over. `stagger` tells how long after a tick's instant
    /// this replica asks for it.
    pub fn wake(&mut self, now: UtcMillis, stagger: impl FnOnce(Tick) -> Duration) -> Action {
        if self.is_unopened() || self.is_asking() {
            return Action::Nothing;
        }
        if let State::Waiting { bid, until } = &self.state
            && bid.unsure
            && bid.tick.instant() <= self.decided
        {
            // The mark may be this bid's own: only asking again tells whether the lock is ours.
            let (bid, until) = (bid.clone(), *until);
            return if now < until { Action::WakeAt(until) } else { self.ask(bid, None) };
        }
        let Some(tick) = self.candidate(now) else { return self.rest() };
        match &mut self.state {
            State::Waiting { bid, until } if bid.tick == tick => {
                if now < *until {
                    return Action::WakeAt(*until);
                }
                let bid = bid.clone();
                self.ask(bid, None)
            }
            _ => {
                let instead_of = self.doubt();
                let bid = Bid::new(tick);
                let at = tick.instant().plus(stagger(tick));
                if now < at && instead_of.is_none() {
                    return self.wait(bid, at);
                }
                self.ask(bid, instead_of)
            }
        }
    }

    fn ask(&mut self, bid: Bid, instead_of: Option<Doubt>) -> Action {
        self.state = State::Asking { bid: bid.clone() };
        Action::Claim { bid, instead_of }
    }

    fn wait(&mut self, bid: Bid, until: UtcMillis) -> Action {
        self.state = State::Waiting { bid, until };
        Action::WakeAt(until)
    }

    fn rest(&mut self) -> Action {
        self.state = State::Idle;
        Action::Nothing
    }

    /// What requests tell of the job besides.
    pub(super) fn known(&self) -> Known {
        let mark = Some(self.decided).filter(|mark| *mark > UtcMillis(0));
        Known { largest_lease: self.spec.lease, mark }
    }

    /// The job as this replica knows it, to be put into requests.
    pub(super) fn proposal(&self) -> Proposal<'_> {
        Proposal { spec: &self.spec, decided: self.decided, delayed_by: self.delayed_by }
    }

    /// The store answered the claim sent at `sent`. `in_time` is false when a grant must not start anything any more.
    pub fn answered(
        &mut self,
        reply: &Reply,
        now: UtcMillis,
        sent: BootInstant,
        in_time: bool,
    ) -> (Option<Finding>, Action) {
        let State::Asking { bid } = self.state.clone() else { return (None, Action::Nothing) };
        self.decided = self.decided.max(reply.mark.unwrap_or(UtcMillis(0)));
        let again = now.plus(RETRY_PAUSES.0);
        match &reply.answer {
            Answer::Won { .. } if !in_time => (None, self.too_late(&bid)),
            Answer::Won { fence, tries, started } => {
                let cause = self.cause(&bid, *tries, now);
                self.settled(bid.tick);
                let won = Won {
                    run: bid.run,
                    tick: bid.tick,
                    fence: *fence,
                    cause,
                    tries: *tries,
                    started: *started,
                    era: bid.era,
                    mark: reply.mark.unwrap_or(bid.tick.instant()),
                };
                (None, Action::Start { won, sent })
            }
            Answer::Early { wait } => (None, self.wait(bid.sure(), now.plus(*wait))),
            Answer::Held { by, frees_in } => {
                self.delayed_by = Some(Reason::Overlap);
                let pause = (*frees_in).min(self.spec.lease / ASKS_PER_LEASE).max(MIN_PAUSE);
                (Some(Finding::Held(by.clone())), self.wait(bid.sure(), now.plus(pause)))
            }
            Answer::Decided { by, how } => {
                let finding = Finding::Decided { by: by.clone(), how: *how };
                (Some(finding), self.settled(bid.tick))
            }
            Answer::Consumed(verdict) => (Some(Finding::Consumed(*verdict)), self.settled(bid.tick)),
            Answer::NewerSchema(schema) => {
                (Some(Finding::NewerSchema(*schema)), self.wait(bid.sure(), now.plus(SCHEMA_PAUSE)))
            }
            Answer::NewEra(_) | Answer::Unsynced => {
                if reply.answer != Answer::Unsynced {
                    self.close();
                }
                self.wait(bid, again);
                (None, Action::Resync(again))
            }
            // No answers to a claim.
            Answer::Opened { .. }
            | Answer::Renewed { .. }
            | Answer::Lost
            | Answer::Finished
            | Answer::AlreadyDecided
            | Answer::Abandoned => (None, self.wait(bid, again)),
        }
    }

    fn cause(&self, bid: &Bid, tries: u32, now: UtcMillis) -> Cause {
        match (tries > 1, is_catch_up(&self.spec, bid.tick, now)) {
            (true, _) => Cause::Rerun,
            (false, true) => Cause::CatchUp,
            (false, false) => Cause::Schedule,
        }
    }

    /// The tick is given back, and then claimed anew under another run id.
    fn too_late(&mut self, bid: &Bid) -> Action {
        self.decided = self.decided.min(UtcMillis(bid.tick.as_millis() - 1));
        self.ask(Bid::new(bid.tick), Some(bid.doubt()))
    }

    fn settled(&mut self, tick: Tick) -> Action {
        self.decided = self.decided.max(tick.instant());
        self.delayed_by = None;
        self.rest()
    }

    /// The claim under way got no answer.
    pub fn failed(&mut self, may_have_been_applied: bool, now: UtcMillis) -> Action {
        let State::Asking { bid } = self.state.clone() else { return Action::Nothing };
        self.delayed_by = Some(Reason::StoreUnreachable);
        let pause = RETRY_PAUSES.0.saturating_mul(1 << bid.failures.min(10)).min(RETRY_PAUSES.1);
        let unsure = bid.unsure || may_have_been_applied;
        self.wait(Bid { unsure, failures: bid.failures + 1, ..bid }, now.plus(pause))
    }
}
