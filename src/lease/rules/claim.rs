//! Taking the lock: for a scheduled tick, which is thereby decided, or for a run that somebody asked for. The rules
//! are those of the design, in its order and under its numbers.

use std::time::Duration;

use crate::job::{Cause, Fence, Outcome, Overlap, Reason, Tick, Verdict};
use crate::lease::rules::gaps;
use crate::lease::{Answer, Claim, Entry, LeaseInstant, Manual, Phase, Protection, Record, Server};
use crate::time::UtcMillis;

use super::early::{EARLY_TOLERANCE, begins};
use super::grant_request::Bid;
use super::raise_mark::{open_leap_waits, raise_mark};
use super::transition::{Decision, Draft};

/// Decides a claim for a scheduled tick.
pub(crate) fn decide_claim(mut draft: Draft<'_>, claim: &Claim) -> Decision {
    let now = draft.server.now;
    draft.look_by(claim.wall);
    let bid = Bid::of_claim(claim, now);
    let was_missing = draft.record.is_none();
    if let Some(answer) = enter(&mut draft, &bid) {
        if was_missing {
            gaps::remember_lost(&mut draft, claim);
        }
        return draft.answer(answer);
    }
    draft.reopen();
    gaps::learn_schedule(draft.record_mut(), claim);
    // Rule 8. Ahead of its instant a tick is granted, or nothing is decided of it yet.
    let early = Answer::Early { wait: claim.tick.instant().since(now) };
    if bid.is_ahead && claim.tick.instant() > now.plus(EARLY_TOLERANCE) {
        return draft.answer(early);
    }
    // Rule 9.
    let rerun = draft.record_mut().is_rerun(claim);
    if rerun && draft.record_mut().refuses_rerun(claim, now) {
        // The tick has its record already; that it does not run again needs none.
        draft.record_mut().forgo_rerun();
        return at_or_below_mark(draft, claim);
    }
    if Protection::Mark.is_on() && draft.is_decided(claim.tick) && !rerun {
        return at_or_below_mark(draft, claim);
    }
    if let Some(wait) = open_leap_waits(&mut draft, &bid).filter(|_| !rerun) {
        return draft.answer(if bid.is_ahead { early } else { wait });
    }
    if let Some(verdict) = not_to_run(&mut draft, claim).filter(|_| !rerun) {
        return if bid.is_ahead { draft.answer(early) } else { consume(draft, claim, verdict) };
    }
    match contend(&mut draft, &bid, rerun) {
        Contention::Free => {}
        Contention::Covered | Contention::Held(_) if bid.is_ahead => return draft.answer(early),
        Contention::Covered => {
            return consume(draft, claim, Verdict::because(Outcome::Skipped, Reason::Overlap));
        }
        Contention::Held(answer) => return draft.answer(answer),
    }
    if claim.unfit.is_some() {
        return draft.answer(Answer::Early { wait: claim.time_left(now) });
    }
    if rerun {
        draft.record_mut().tries += 1;
        return grant(draft, &bid, Cause::Rerun);
    }
    draft.record_mut().tries = 1;
    raise_mark(&mut draft, claim, claim.prev);
    grant(draft, &bid, if claim.catch_up { Cause::CatchUp } else { Cause::Schedule })
}

/// Decides a request for a run that somebody asked for; it never touches the mark.
pub(crate) fn decide_manual(mut draft: Draft<'_>, manual: &Manual) -> Decision {
    let bid = Bid::of_manual(manual);
    if let Some(answer) = enter(&mut draft, &bid) {
        return draft.answer(answer);
    }
    if manual.order.is_some() && draft.record_mut().order != manual.order {
        let answer = decided(draft.record_mut(), manual.tick);
        return draft.answer(answer);
    }
    match contend(&mut draft, &bid, false) {
        Contention::Free => {}
        Contention::Covered => {
            let verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
            let entry = Entry::without_run(manual.tick, Cause::Manual, verdict, draft.server.now);
            draft.entries.push(Entry { run: Some(manual.run), ..entry });
            draft.record_mut().take_order(manual);
            return draft.answer(Answer::Consumed(verdict));
        }
        Contention::Held(answer) => return draft.answer(answer),
    }
    let record = draft.record_mut();
    record.tries = 1;
    record.take_order(manual);
    grant(draft, &bid, Cause::Manual)
}

/// Rules 1 to 7: whether the request may be considered at all. Afterwards there is a record of this era.
fn enter(draft: &mut Draft<'_>, bid: &Bid<'_>) -> Option<Answer> {
    // Rule 1.
    if draft.is_unsynced(bid.caller.expect) {
        return Some(Answer::Unsynced);
    }
    // Rule 2.
    if draft.server.era != bid.caller.era {
        return Some(Answer::NewEra(draft.server.era.clone()));
    }
    // Rule 3.
    if draft.record.is_none() {
        let wait = bid.caller.longest_lease(bid.lease, Duration::ZERO);
        draft.create(bid.caller, bid.caller.heard, (wait, true));
        draft.raise_floor(bid.caller);
        return Some(Answer::Held { by: None, frees_in: wait });
    }
    // Rule 4.
    draft.adopt_era(bid.caller, bid.caller.heard, bid.lease);
    draft.fall_back(bid.caller, bid.lease);
    draft.raise_floor(bid.caller);
    draft.recall_lost(bid.caller);
    // Rule 5.
    if draft.record_mut().run == Some(bid.run) {
        return Some(mine(draft, bid));
    }
    let Server { now, lease_now, .. } = *draft.server;
    let calm = draft.calm(bid.caller);
    let longest = bid.longest_lease(draft.record_mut());
    if calm < longest {
        return None;
    }
    draft.cut_waits(longest, bid.caller.heard);
    let record = draft.record_mut();
    // Rule 7.
    if record.is_running() && record.until <= lease_now {
        let last_alive = record.ended.or(record.started).unwrap_or(now);
        draft.end_run(Verdict::because(Outcome::Interrupted, Reason::NodeLost), last_alive);
    }
    None
}

/// Rule 5: the same run asks again, because it did not hear the answer.
fn mine(draft: &mut Draft<'_>, bid: &Bid<'_>) -> Answer {
    let renewed = draft.server.lease_now.plus(bid.lease);
    let now = draft.server.now;
    let calm = draft.calm(bid.caller);
    let record = draft.record_mut();
    if !record.is_running() {
        return decided(record, bid.tick);
    }
    // The grant may be of an earlier life of the store, which granted the lock to another since, and forgot it. Who
    // still holds it takes it back meanwhile.
    let needed = bid.longest_lease(record);
    if calm < needed {
        return Answer::Held { by: record.holder(), frees_in: needed.saturating_sub(calm) };
    }
    record.until = record.until.max(renewed);
    record.ended = Some(now);
    Answer::Won { fence: record.fence, tries: record.tries, started: record.started.unwrap_or(now) }
}

/// Rules 10 and 11: whether the tick is too late, was edited away, or is paused.
fn not_to_run(draft: &mut Draft<'_>, claim: &Claim) -> Option<Verdict> {
    let now = draft.server.now;
    let record = draft.record_mut();
    let paused = record.paused.is_some_and(|until| now < until);
    // A paused job misses nobody who could run it.
    let is_missed = claim.is_late(now) && !(paused && claim.unfit.is_some());
    if is_missed && !claim.catch_up {
        return Some(Verdict::because(Outcome::Missed, claim.unfit.unwrap_or(Reason::Late)));
    }
    let is_older = claim.tick.instant() <= record.since;
    if claim.catch_up && (is_older || !record.is_under(&claim.sched)) {
        return Some(Verdict::because(Outcome::Missed, Reason::Edited));
    }
    paused.then_some(Verdict::because(Outcome::Skipped, Reason::Paused))
}

/// Whether anything stands between the request and the lock.
enum Contention {
    /// Nothing.
    Free,
    /// The previous run covers the instant, and the policy is to skip.
    Covered,
    /// Somebody holds the lock, or may do so.
    Held(Answer),
}

/// Rules 12 and 13.
fn contend(draft: &mut Draft<'_>, bid: &Bid<'_>, rerun: bool) -> Contention {
    let (now, lease_now) = (draft.server.now, draft.server.lease_now);
    let calm = draft.calm(bid.caller);
    let record = draft.record_mut();
    // What was seen later than now was seen by a clock that was stepped back since: it covers nothing.
    let ended = record.ended.filter(|ended| *ended <= now);
    // A record that was opened and never granted waits only as long as it was opened for.
    let needed = if record.run.is_none() { record.lease } else { bid.longest_lease(record) };
    let may_be_held = record.until > LeaseInstant::FREE && (record.until > lease_now || calm < needed);
    if may_be_held {
        // A run that began after the instant was not going on at it, however long it lives.
        let was_alive = record.started.is_some_and(|started| started <= bid.instant)
            && ended.is_some_and(|alive| alive >= bid.instant);
        let covers = record.is_running() && (was_alive || !Protection::LivingHolder.is_on());
        if bid.overlap == Overlap::Skip && covers && !rerun {
            return Contention::Covered;
        }
        if bid.overlap == Overlap::Replace && record.is_running() && !bid.is_ahead {
            record.replace_run();
        }
        let frees_in = record.until.since(lease_now).min(needed).max(needed.saturating_sub(calm));
        return Contention::Held(Answer::Held { by: record.holder(), frees_in });
    }
    let covered = matches!(
        (record.started, ended),
        (Some(started), Some(ended)) if started <= bid.instant && bid.instant < ended
    );
    if bid.overlap == Overlap::Skip && covered && !rerun {
        return Contention::Covered;
    }
    match record.kept_for_rerun(bid, now).filter(|_| !rerun) {
        Some(frees_in) => Contention::Held(Answer::Held { by: None, frees_in }),
        None => Contention::Free,
    }
}

/// How the tick was decided, as far as the record still tells.
fn decided(record: &Record, tick: Tick) -> Answer {
    if record.tick != Some(tick) {
        return Answer::Decided { by: None, how: None };
    }
    let running = Verdict::plain(Outcome::Running);
    Answer::Decided { by: record.owner.clone(), how: record.last.or(record.is_running().then_some(running)) }
}

/// Decides that the tick does not run: raises the mark and writes one entry, and leaves a running holder alone.
fn consume(mut draft: Draft<'_>, claim: &Claim, verdict: Verdict) -> Decision {
    // It, or a tick before it, may have run, and whoever knows has yet to tell.
    if let Some(frees_in) = draft.unsettled() {
        let by = draft.record_mut().holder();
        return draft.answer(Answer::Held { by, frees_in });
    }
    let idle = if verdict.is_overlap() { claim.prev } else { Some(claim.tick) };
    raise_mark(&mut draft, claim, idle);
    let record = draft.record_mut();
    if record.run.is_none() {
        // Ticks up to the mark have their entries, or are known to be lost: who remembers an older mark has nothing to report.
        record.lost = record.lost.or(Some(record.mark));
    }
    let cause = if claim.catch_up { Cause::CatchUp } else { Cause::Schedule };
    let entry = Entry::without_run(claim.tick, cause, verdict, draft.server.now);
    // Ticks passed over for the same reason are those right before it.
    let before = draft.entries.last().filter(|passed| Some(passed.tick) == claim.prev);
    let both = before.and_then(|passed| passed.joined(&entry));
    // One entry for ticks in a leap and outside of it could not be taken back with the leap.
    let leaps = &draft.record_mut().leaps;
    let both =
        both.filter(|both| both.after.is_none_or(|after| leaps.has_all_or_none(after, both.tick.instant())));
    if both.is_some() {
        draft.entries.pop();
    }
    draft.entries.push(both.unwrap_or(entry));
    draft.answer(Answer::Consumed(verdict))
}

/// Rule 9 for a tick that is not rerun: it was decided, and how; or it was forgotten, and this is its entry.
fn at_or_below_mark(mut draft: Draft<'_>, claim: &Claim) -> Decision {
    let answer = gaps::record_lost(&mut draft, claim);
    let answer = answer.unwrap_or_else(|| decided(draft.record_mut(), claim.tick));
    draft.answer(answer)
}

/// Rule 14: the lock is the caller's.
fn grant(mut draft: Draft<'_>, bid: &Bid<'_>, cause: Cause) -> Decision {
    let server = draft.server;
    let is_calm = draft.calm(bid.caller) >= bid.longest_lease(draft.record_mut());
    let heard = if is_calm { UtcMillis(0) } else { bid.caller.heard };
    let until = draft.leased_from(heard).plus(bid.lease);
    let record = draft.record_mut();
    let seen = server.now.max(bid.caller.heard);
    let largest = record.fence.max(record.floor).max(bid.caller.largest_fence);
    record.fence = Fence(largest.0 + 1).max(Fence(seen.0));
    record.phase = Phase::Running;
    record.run = Some(bid.run);
    record.tick = Some(bid.tick);
    record.cause = Some(cause);
    let started = begins(cause, bid.instant, server.now);
    record.started = Some(started);
    record.ended = Some(started);
    record.last = None;
    record.until = until;
    record.lease = bid.lease;
    record.owner = Some(bid.caller.node.clone());
    record.stop = None;
    record.stop_for = None;
    let (fence, tries) = (record.fence, record.tries);
    draft.answer(Answer::Won { fence, tries, started })
}
