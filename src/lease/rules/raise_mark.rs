//! Raising the mark to a claimed tick, and the leaps that this makes.

use crate::job::Tick;
use crate::lease::rules::gaps;
use crate::lease::{Answer, Claim, Leap, Passed};

use super::grant_request::GrantRequest;
use super::transition::Transition;

/// Returns `held` for a tick in an open leap until the caller has watched a steady clock for the longest lease: the clock
/// that shows that the mark lies ahead may be the wrong one.
pub(super) fn open_leap_waits(transition: &mut Transition<'_>, request: &GrantRequest<'_>) -> Option<Answer> {
    let (calm, front) = (transition.calm(request.caller), transition.latest_correct_time);
    let record = transition.record_mut();
    let needed = request.longest_lease(record);
    let waits = record.is_reopened(request.tick, front) && calm < needed;
    waits.then(|| Answer::Held { by: record.holder(), frees_in: needed.saturating_sub(calm) })
}

/// Decides the tick, and records the ticks that the mark passes. None of the ticks up to `idle` ran. If the caller has not
/// watched the clock for all of that time, they become a leap: the clock may have jumped over them, without the time having
/// passed.
pub(super) fn raise_mark(transition: &mut Transition<'_>, claim: &Claim, idle: Option<Tick>) {
    let (now, front, caller) = (transition.server.now, transition.latest_correct_time, &claim.caller);
    let is_off = transition.is_off(caller.expect);
    let record = transition.record_mut();
    let after = record.decided_before(claim.tick, front).max(record.schedule_since);
    let is_vouched = !is_off && caller.calm >= now.since(after);
    let leap = idle.map(|to| Leap { after, to: to.instant(), passed: Passed::Told });
    let leap = leap.filter(|leap| !is_vouched && leap.after < leap.to);
    gaps::record_passed(transition, claim, leap.is_some());
    let record = transition.record_mut();
    record.decide(claim.tick, leap);
    record.schedule_hash = claim.schedule_hash.clone();
    gaps::part_at_leaps(transition, None);
    let record = transition.record_mut();
    if record.lost_after.is_none() {
        record.leaps.forget_ran(|leap| leap.to < claim.tick.instant());
    }
}
