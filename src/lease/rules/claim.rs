//! Decides claims and manual requests. A claim takes the lock for a scheduled tick and thereby decides that tick. The rules
//! are those of docs/protocol.md, in its order and under its numbers.

use std::time::Duration;

use crate::job::{Cause, Fence, Outcome, Overlap, Reason, Tick, Verdict};
use crate::lease::rules::gaps;
use crate::lease::{Answer, Claim, HistoryEntry, LeaseInstant, Manual, Phase, Protection, Record, Server};
use crate::time::UtcMillis;

use super::early::{EARLY_TOLERANCE, begins};
use super::grant_request::GrantRequest;
use super::raise_mark::{open_leap_waits, raise_mark};
use super::transition::{Decision, Transition};

/// A rerun that waits for a live run is claimed again after this time: as often as replicas send heartbeats.
const RERUN_PAUSE: Duration = Duration::from_secs(1);

/// Decides a claim for a scheduled tick.
pub(crate) fn decide_claim(mut transition: Transition<'_>, claim: &Claim) -> Decision {
    let now = transition.server.now;
    transition.set_latest_correct_time(claim.wall);
    let request = GrantRequest::of_claim(claim, now);
    let was_missing = transition.record.is_none();
    if let Some(answer) = enter(&mut transition, &request) {
        if was_missing {
            gaps::remember_lost(&mut transition, claim);
        }
        return transition.answer(answer);
    }
    transition.reopen();
    gaps::learn_schedule(transition.record_mut(), claim);
    // Rule 8. Before its instant a tick is either granted, or nothing is decided about it yet.
    let early = Answer::Early { wait: claim.tick.instant().since(now) };
    if request.is_ahead && claim.tick.instant() > now.plus(EARLY_TOLERANCE) {
        return transition.answer(early);
    }
    // Rule 9.
    let rerun = transition.record_mut().is_rerun(claim);
    if rerun && transition.record_mut().refuses_rerun(claim, now) {
        // The tick has its entry already; that it does not run again needs none.
        transition.record_mut().forgo_rerun();
        return at_or_below_mark(transition, claim);
    }
    if rerun && transition.record_mut().is_lost_and_in(&claim.live_runs.running, now) {
        // The run may yet end by itself. The time for its rerun passes meanwhile.
        return transition.answer(Answer::Held { by: None, frees_in: RERUN_PAUSE });
    }
    if Protection::Mark.is_on() && transition.is_decided(claim.tick) && !rerun {
        return at_or_below_mark(transition, claim);
    }
    if let Some(wait) = open_leap_waits(&mut transition, &request).filter(|_| !rerun) {
        return transition.answer(if request.is_ahead { early } else { wait });
    }
    if let Some(verdict) = not_to_run(&mut transition, claim).filter(|_| !rerun) {
        return if request.is_ahead { transition.answer(early) } else { consume(transition, claim, verdict) };
    }
    match contend(&mut transition, &request, rerun) {
        Contention::Free => {}
        Contention::Covered | Contention::Held(_) if request.is_ahead => return transition.answer(early),
        Contention::Covered => {
            return consume(transition, claim, Verdict::because(Outcome::Skipped, Reason::Overlap));
        }
        Contention::Held(answer) => return transition.answer(answer),
    }
    if claim.unfit.is_some() {
        return transition.answer(Answer::Early { wait: claim.time_left(now) });
    }
    if rerun {
        transition.record_mut().tries += 1;
        return grant(transition, &request, Cause::Rerun);
    }
    transition.record_mut().tries = 1;
    raise_mark(&mut transition, claim, claim.prev);
    grant(transition, &request, if claim.catch_up { Cause::CatchUp } else { Cause::Schedule })
}

/// Decides a request for a manual run. It decides no tick: the mark does not rise to it.
pub(crate) fn decide_manual(mut transition: Transition<'_>, manual: &Manual) -> Decision {
    let request = GrantRequest::of_manual(manual);
    if let Some(answer) = enter(&mut transition, &request) {
        return transition.answer(answer);
    }
    if manual.order.is_some_and(|order| !transition.record_mut().has_open_order(order)) {
        let answer = decided(transition.record_mut(), manual.tick);
        return transition.answer(answer);
    }
    match contend(&mut transition, &request, false) {
        Contention::Free => {}
        Contention::Covered => {
            let verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
            let entry = HistoryEntry::without_run(manual.tick, Cause::Manual, verdict, transition.server.now);
            transition.entries.push(HistoryEntry { run: Some(manual.run), ..entry });
            transition.record_mut().take_order(manual);
            return transition.answer(Answer::Consumed(verdict));
        }
        Contention::Held(answer) => return transition.answer(answer),
    }
    let record = transition.record_mut();
    record.tries = 1;
    record.take_order(manual);
    grant(transition, &request, Cause::Manual)
}

/// Applies rules 1 to 7. Returns the answer if one of them answers; otherwise a record of this era exists afterwards.
fn enter(transition: &mut Transition<'_>, request: &GrantRequest<'_>) -> Option<Answer> {
    // Rule 1.
    if transition.is_unsynced(request.caller.expect) {
        return Some(Answer::Unsynced);
    }
    // Rule 2.
    if transition.server.era != request.caller.era {
        return Some(Answer::NewEra(transition.server.era.clone()));
    }
    // Rule 3.
    if transition.record.is_none() {
        let wait = request.caller.longest_lease(request.lease, Duration::ZERO);
        transition.create(request.caller, request.caller.latest_store_time, wait, true);
        transition.raise_floor(request.caller);
        return Some(Answer::Held { by: None, frees_in: wait });
    }
    // Rule 4.
    transition.adopt_era(request.caller, request.caller.latest_store_time, request.lease);
    transition.detect_rollback(request.caller, request.lease);
    transition.raise_floor(request.caller);
    transition.merge_lost(request.caller);
    // Rule 5.
    if transition.record_mut().run == Some(request.run) {
        return Some(mine(transition, request));
    }
    let Server { now, lease_now, .. } = *transition.server;
    // Rules 6 and 7 need a caller that is calm for the longest lease.
    let calm = transition.calm(request.caller);
    let longest = request.longest_lease(transition.record_mut());
    if calm < longest {
        return None;
    }
    // Rule 6.
    transition.cut_waits(longest, request.caller.latest_store_time);
    let record = transition.record_mut();
    // Rule 7.
    if record.is_running() && record.locked_until <= lease_now {
        let last_alive = record.ended.or(record.started).unwrap_or(now);
        transition.end_run(Verdict::because(Outcome::Interrupted, Reason::NodeLost), last_alive);
    }
    None
}

/// Rule 5: the same run sends its request again, because the answer did not reach the caller.
fn mine(transition: &mut Transition<'_>, request: &GrantRequest<'_>) -> Answer {
    let renewed = transition.server.lease_now.plus(request.lease);
    let now = transition.server.now;
    let calm = transition.calm(request.caller);
    let record = transition.record_mut();
    if !record.is_running() {
        return decided(record, request.tick);
    }
    // The grant may be of an earlier era: the store may have granted the lock to another run since, and forgotten that. If
    // that run still holds the lock, its holder takes it back during this wait.
    let needed = request.longest_lease(record);
    if calm < needed {
        return Answer::Held { by: record.holder(), frees_in: needed.saturating_sub(calm) };
    }
    record.locked_until = record.locked_until.max(renewed);
    record.ended = Some(now);
    Answer::Won { fence: record.fence, tries: record.tries, started: record.started.unwrap_or(now) }
}

/// Applies rules 10 and 11: returns why the tick does not run. It is too late, was edited away, or the job is paused.
fn not_to_run(transition: &mut Transition<'_>, claim: &Claim) -> Option<Verdict> {
    let now = transition.server.now;
    let record = transition.record_mut();
    let paused = record.paused.is_some_and(|until| now < until);
    // While the job is paused, a replica that cannot run it records no miss: the tick is skipped for the pause.
    let is_missed = claim.is_late(now) && !(paused && claim.unfit.is_some());
    if is_missed && !claim.catch_up {
        return Some(Verdict::because(Outcome::Missed, claim.unfit.unwrap_or(Reason::Late)));
    }
    let is_older = claim.tick.instant() <= record.schedule_since;
    if claim.catch_up && (is_older || !record.is_under(&claim.schedule_hash)) {
        return Some(Verdict::because(Outcome::Missed, Reason::Edited));
    }
    paused.then_some(Verdict::because(Outcome::Skipped, Reason::Paused))
}

/// Whether anything stands between the request and the lock.
enum Contention {
    /// Nothing stands in the way.
    Free,
    /// The previous run covers the instant, and the policy is to skip.
    Covered,
    /// The lock is held or may be held, or it is reserved for a rerun.
    Held(Answer),
}

/// Applies rules 12 and 13.
fn contend(transition: &mut Transition<'_>, request: &GrantRequest<'_>, rerun: bool) -> Contention {
    let (now, lease_now) = (transition.server.now, transition.server.lease_now);
    let calm = transition.calm(request.caller);
    let record = transition.record_mut();
    // A sign of life later than `now` was recorded by a clock that was stepped back since: it covers nothing.
    let ended = record.ended.filter(|ended| *ended <= now);
    // A record that was never granted needs only the wait that was set when it was created.
    let needed = if record.run.is_none() { record.lease } else { request.longest_lease(record) };
    let may_be_held =
        record.locked_until > LeaseInstant::FREE && (record.locked_until > lease_now || calm < needed);
    if may_be_held {
        // A run that began after the instant was not running at it, however long it lives.
        let was_alive = record.started.is_some_and(|started| started <= request.instant)
            && ended.is_some_and(|alive| alive >= request.instant);
        let covers = record.is_running() && (was_alive || !Protection::LivingHolder.is_on());
        if request.overlap == Overlap::Skip && covers && !rerun {
            return Contention::Covered;
        }
        if request.overlap == Overlap::Replace && record.is_running() && !request.is_ahead {
            record.replace_run();
        }
        let frees_in = record.locked_until.since(lease_now).min(needed).max(needed.saturating_sub(calm));
        return Contention::Held(Answer::Held { by: record.holder(), frees_in });
    }
    let covered = matches!(
        (record.started, ended),
        (Some(started), Some(ended)) if started <= request.instant && request.instant < ended
    );
    if request.overlap == Overlap::Skip && covered && !rerun {
        return Contention::Covered;
    }
    match record.kept_for_rerun(request, now).filter(|_| !rerun) {
        Some(frees_in) => Contention::Held(Answer::Held { by: None, frees_in }),
        None => Contention::Free,
    }
}

/// Returns how the tick was decided, as far as the record still has it.
fn decided(record: &Record, tick: Tick) -> Answer {
    if record.tick != Some(tick) {
        return Answer::Decided { by: None, how: None };
    }
    let running = Verdict::plain(Outcome::Running);
    Answer::Decided {
        by: record.owner.clone(),
        how: record.verdict.or(record.is_running().then_some(running)),
    }
}

/// Decides that the tick does not run: raises the mark and writes one entry. A running holder is not affected.
fn consume(mut transition: Transition<'_>, claim: &Claim, verdict: Verdict) -> Decision {
    // This tick, or one before it, may have run, and a replica that knows it may still report it.
    if let Some(frees_in) = transition.unsettled() {
        let by = transition.record_mut().holder();
        return transition.answer(Answer::Held { by, frees_in });
    }
    let idle = if verdict.is_overlap() { claim.prev } else { Some(claim.tick) };
    raise_mark(&mut transition, claim, idle);
    let record = transition.record_mut();
    if record.run.is_none() {
        // All ticks up to the mark have their entries or are known to be lost: a replica that remembers an older mark has
        // nothing to report.
        record.lost_after = record.lost_after.or(Some(record.mark));
    }
    let cause = if claim.catch_up { Cause::CatchUp } else { Cause::Schedule };
    let entry = HistoryEntry::without_run(claim.tick, cause, verdict, transition.server.now);
    // An entry for ticks that were passed over can be joined if these ticks come right before this one.
    let before = transition.entries.last().filter(|passed| Some(passed.tick) == claim.prev);
    let both = before.and_then(|passed| passed.joined(&entry));
    // One entry for ticks in a leap and outside of it could not be withdrawn with the leap.
    let leaps = &transition.record_mut().leaps;
    let both =
        both.filter(|both| both.after.is_none_or(|after| leaps.has_all_or_none(after, both.tick.instant())));
    if both.is_some() {
        transition.entries.pop();
    }
    transition.entries.push(both.unwrap_or(entry));
    transition.answer(Answer::Consumed(verdict))
}

/// Rule 9 for a tick that is not rerun: answers how it was decided, or records it as one that the store forgot.
fn at_or_below_mark(mut transition: Transition<'_>, claim: &Claim) -> Decision {
    let answer = gaps::record_lost(&mut transition, claim);
    let answer = answer.unwrap_or_else(|| decided(transition.record_mut(), claim.tick));
    transition.answer(answer)
}

/// Rule 14: grants the lock to the caller.
fn grant(mut transition: Transition<'_>, request: &GrantRequest<'_>, cause: Cause) -> Decision {
    let server = transition.server;
    let is_calm = transition.calm(request.caller) >= request.longest_lease(transition.record_mut());
    let heard = if is_calm { UtcMillis(0) } else { request.caller.latest_store_time };
    let until = transition.leased_from(heard).plus(request.lease);
    let record = transition.record_mut();
    let seen = server.now.max(request.caller.latest_store_time);
    let largest = record.fence.max(record.floor).max(request.caller.largest_fence);
    let fence = Fence(largest.0 + 1).max(Fence(seen.0));
    record.fence = if Protection::FenceFromClock.is_on() { fence } else { Fence(record.fence.0 + 1) };
    record.phase = Phase::Running;
    record.run = Some(request.run);
    record.tick = Some(request.tick);
    record.cause = Some(cause);
    let started = begins(cause, request.instant, server.now);
    record.started = Some(started);
    record.ended = Some(started);
    record.verdict = None;
    record.locked_until = until;
    record.lease = request.lease;
    record.owner = Some(request.caller.node.clone());
    record.clear_stop();
    let (fence, tries) = (record.fence, record.tries);
    transition.answer(Answer::Won { fence, tries, started })
}
