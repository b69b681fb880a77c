//! Hints about other replicas' claims. Any client that may publish can send one, so a hint shows only that a claim may
//! not be needed: the claim is put off for a moment, and the job's mark is read instead.

use std::time::Duration;

use crate::job::{JobSpec, OnInterrupt, Tick};
use crate::lease::{Abandon, Answer, EARLY_TOLERANCE, Protection, Reply};
use crate::store::Marked;
use crate::time::UtcMillis;

pub(crate) use super::super::action::{Action, Bid, Finding};
use super::{ClaimState, Contest, is_done};

/// A claim is put off for this part of the tick's start deadline, or of the time until the next tick if that is
/// shorter; and for as much again while the mark is read. Each of the two is never longer than this.
const PUT_OFF: (u32, Duration) = (8, Duration::from_secs(1));

/// Where no claim is put off, marks are read at most this often (ms), of all jobs at the same time.
const LOOKS_EVERY: i64 = 100;

/// What hints reported, and is not looked up yet.
#[derive(Debug, Default)]
pub(super) struct Hearsay {
    /// The newest tick that hints report as decided, and how.
    decided: Option<(Tick, Finding)>,
    /// The newest decided tick, which a hint reports as open again.
    reopened: Option<Tick>,
    /// From when on to read the mark, whether or not the pending tick is put off.
    look_at: Option<UtcMillis>,
    /// The mark is read once for each pending tick: it was for those up to here.
    looked_at: UtcMillis,
    look: Look,
    /// Whether the pending tick waits for the mark.
    is_awaited: bool,
}

/// Whether the mark is being read.
#[derive(Debug, Default, PartialEq, Eq)]
enum Look {
    /// It is not.
    #[default]
    No,
    /// It is to be read at once.
    Wanted,
    /// It is being read.
    UnderWay,
}

/// A tick that could not start beside a run of the job here is looked at again after this long, or when that run is over.
const REFUSED_AGAIN: Duration = Duration::from_secs(1);

impl Contest {
    /// Takes in a hint about another replica's claim. `store_now`: the store's time, as this replica reckons it.
    /// Returns when to check the job, if the hint alone requires that.
    pub fn overhear(&mut self, reply: &Reply, store_now: UtcMillis, now: UtcMillis) -> Option<UtcMillis> {
        let mark = reply.mark.filter(|_| !self.retired)?;
        let finding = match &reply.answer {
            Answer::Decided { by, how } => Finding::Decided { by: by.clone(), how: *how },
            // The tick is open again, unless something newer is known to be decided.
            Answer::Abandoned => {
                return self.overhear_given_back(Tick(mark.plus(Duration::from_millis(1))), now);
            }
            _ => return None,
        };
        let known =
            self.hearsay.decided.as_ref().map_or(self.decided, |(tick, _)| self.decided.max(tick.instant()));
        // No store decides a tick that is further ahead.
        if known < mark && mark <= store_now.plus(EARLY_TOLERANCE) {
            self.hearsay.decided = Some((Tick(mark), finding));
        }
        if !Protection::HintCheck.is_on() {
            let believed = Marked { mark, lease: reply.lease.unwrap_or_default() };
            self.look_found(Some(&believed), now);
        }
        // The pending tick may wait for a lock that it does not need any more.
        let waits_for = self.waits_for().filter(|tick| tick.instant() <= mark && !self.is_rerun(*tick))?;
        self.look_from(waits_for.instant().plus(put_off_by(&self.spec, waits_for)), now)
    }

    fn overhear_given_back(&mut self, tick: Tick, now: UtcMillis) -> Option<UtcMillis> {
        if self.decided != tick.instant() {
            return None;
        }
        self.hearsay.reopened = Some(tick);
        self.look_from(now, now)
    }

    /// Plans to read the mark from `from` on, together with those of other jobs. Returns when, unless that is planned
    /// already.
    fn look_from(&mut self, from: UtcMillis, now: UtcMillis) -> Option<UtcMillis> {
        if self.hearsay.look_at.is_some() {
            return None;
        }
        let next = UtcMillis((now.0 / LOOKS_EVERY + 1).saturating_mul(LOOKS_EVERY));
        self.hearsay.look_at = Some(next.max(from));
        self.hearsay.look_at
    }

    /// Claims the bid's tick, or waits if hints report it as decided, or a run that is going here keeps it from starting.
    pub(super) fn ask_or_put_off(
        &mut self,
        bid: Bid,
        instead_of: Option<Abandon>,
        stagger: Duration,
        now: UtcMillis,
    ) -> Action {
        if self.refused == Some(bid.tick) && instead_of.is_none() && self.doubt().is_none() {
            return self.wait(bid, now.plus(REFUSED_AGAIN));
        }
        match self.put_off(bid.tick, stagger, now) {
            Some(until) => self.wait(bid, until),
            None => self.ask(bid, instead_of),
        }
    }

    /// Returns until when to wait instead of claiming the tick now, if hints report it as decided. A replica that
    /// claims first (no stagger) or may hold the tick's lock claims it all the same.
    fn put_off(&mut self, tick: Tick, stagger: Duration, now: UtcMillis) -> Option<UtcMillis> {
        // What a clock that was ahead has decided shows nothing of earlier ticks.
        let come = now.plus(EARLY_TOLERANCE);
        let told = self.hearsay.decided.as_ref().filter(|(told, _)| told.instant() <= come);
        let is_told = told.is_some_and(|(told, _)| tick <= *told);
        if !is_told || stagger.is_zero() || self.doubt().is_some() || self.is_rerun(tick) {
            return None;
        }
        let part = put_off_by(&self.spec, tick);
        let look = tick.instant().plus(part);
        if now < look {
            return Some(look);
        }
        // The mark does not show whether the run was interrupted, which a replica that would rerun it has to know.
        if self.spec.on_interrupt == OnInterrupt::Rerun {
            return None;
        }
        if self.hearsay.looked_at < tick.instant() {
            (self.hearsay.looked_at, self.hearsay.is_awaited) = (tick.instant(), true);
            if self.hearsay.look == Look::No {
                self.hearsay.look = Look::Wanted;
            }
            return Some(now.plus(part));
        }
        None
    }

    /// Whether to read the job's mark now: the caller then does.
    pub fn takes_look(&mut self, now: UtcMillis) -> bool {
        if self.is_asking() {
            // The answer to the claim shows more.
            (self.hearsay.look_at, self.hearsay.reopened) = (None, None);
        }
        let takes = match self.hearsay.look {
            Look::No => self.hearsay.look_at.is_some_and(|at| at <= now),
            Look::Wanted => true,
            Look::UnderWay => false,
        };
        if takes {
            self.hearsay.look = Look::UnderWay;
        }
        takes
    }

    /// Takes in the mark, or that it could not be read. Returns the tick of which something is now known, and what.
    /// While this replica's own claim is under way, or may have been granted without an answer, only the answer to it
    /// counts.
    pub fn look_found(&mut self, found: Option<&Marked>, now: UtcMillis) -> Option<(Tick, Finding)> {
        (self.hearsay.look, self.hearsay.look_at) = (Look::No, None);
        let reopened = self.hearsay.reopened.take();
        if std::mem::take(&mut self.hearsay.is_awaited) {
            self.hurry(now);
        }
        let waits_for_its_own = self.is_unopened() || self.is_asking() || self.doubt().is_some();
        let is_ahead = |found: &&Marked| found.mark > now.plus(EARLY_TOLERANCE);
        let found = found.filter(|found| !waits_for_its_own && !self.retired && !is_ahead(found))?;
        self.saw(Some(found.lease));
        if let Some(tick) = reopened
            && self.decided == tick.instant()
            && found.mark.plus(Duration::from_millis(1)) == tick.instant()
        {
            self.given_back(tick);
            return None;
        }
        if self.waits_for().is_some_and(|tick| tick.instant() <= found.mark) {
            self.hurry(now);
        }
        let is_enough = self.spec.on_interrupt == OnInterrupt::Skip || !Protection::HintCheck.is_on();
        let (told, _) = self.hearsay.decided.as_ref().filter(|_| is_enough)?;
        // A hint may report a newer tick than is decided.
        let decided = Tick(found.mark.min(told.instant()));
        let is_it = decided == *told;
        let finding = self.hearsay.decided.take_if(|_| is_it).map(|(_, finding)| finding);
        let finding = finding.unwrap_or(Finding::Decided { by: None, how: None });
        if self.decided >= decided.instant() {
            return None;
        }
        if Protection::HintCheck.is_on() {
            // The store itself showed that: if it knows less later, it went back to an older state.
            self.answered = self.answered.max(decided.instant());
        }
        Some(self.learn_decided(decided, finding, now))
    }

    fn learn_decided(&mut self, tick: Tick, finding: Finding, now: UtcMillis) -> (Tick, Finding) {
        let is_done = matches!(&finding, Finding::Decided { by, how } if is_done(by.as_ref(), *how));
        self.decide(tick.instant(), is_done);
        let waited_for = self.waits_for().filter(|waited_for| !self.is_rerun(*waited_for));
        let waited_for = waited_for.filter(|waited_for| *waited_for <= tick);
        match &self.state {
            ClaimState::Waiting { bid, .. } if waited_for.is_some() => {
                let bid = bid.clone();
                self.settled(&bid, false, now);
            }
            ClaimState::Idle => self.delayed_by = None,
            ClaimState::Waiting { .. } | ClaimState::Asking { .. } => {}
        }
        // Of an older tick that was pending, only that it is decided is known.
        match waited_for.filter(|waited_for| *waited_for != tick) {
            Some(older) => (older, Finding::Decided { by: None, how: None }),
            None => (tick, finding),
        }
    }
}

/// Returns for how long a claim of the tick is put off.
fn put_off_by(spec: &JobSpec, tick: Tick) -> Duration {
    let next = spec.schedule.next_after(tick.instant()).map(|next| next.instant().since(tick.instant()));
    let period = next.unwrap_or(Duration::MAX).min(spec.start_deadline_of(tick));
    (period / PUT_OFF.0).min(PUT_OFF.1)
}

#[cfg(test)]
#[path = "tests/hinted.rs"]
mod tests;
