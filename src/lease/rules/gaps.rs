//! Ticks that the mark passes without a claim of their own: no replica claimed them, or the store forgot the claims. Each
//! of them gets its entry from the next claim, which has the schedule.

use crate::job::{Cause, Outcome, Reason, Tick, Verdict};
use crate::lease::{Answer, Claim, Dropped, HistoryEntry, Leap, Leaps, Open, Passed, Protection, Record};
use crate::time::UtcMillis;

use super::transition::Transition;

/// Handles a claim that found no record: if the new mark covers its tick, the tick may have been decided and forgotten.
pub(crate) fn remember_lost(transition: &mut Transition<'_>, claim: &Claim) {
    let Some(record) = transition.record.as_mut() else { return };
    let before = UtcMillis(claim.tick.as_millis() - 1);
    record.lost_after = record.lost_after.or(Some(before).filter(|before| *before < record.mark));
    record.schedule_hash = claim.schedule_hash.clone();
}

/// Stores the claim's schedule in a record without one, and moves the start of the schedule back to where the caller's
/// knowledge of it begins.
pub(crate) fn learn_schedule(record: &mut Record, claim: &Claim) {
    record.learn_schedule(&claim.schedule_hash);
    record.merge_since(claim.caller.known_mark, &claim.schedule_hash, claim.gap.map(|gap| gap.after));
}

/// Records the claimed tick as forgotten, if the mark was raised past it when the store forgot; `None` if it was decided.
/// While the record is not settled, the claim waits for replicas that may know that the tick ran.
pub(crate) fn record_lost(transition: &mut Transition<'_>, claim: &Claim) -> Option<Answer> {
    let (now, unsettled) = (transition.server.now, transition.unsettled());
    let record = transition.record_mut();
    let (instant, since) = (claim.tick.instant(), record.schedule_since);
    let within_schedule = |lost: UtcMillis| Some(lost.max(since)).filter(|lost| *lost < instant);
    let lost = record.lost_after.and_then(within_schedule);
    let in_leap = record.leaps.lost_before(instant).and_then(within_schedule);
    let has_run = record.tick == Some(claim.tick) || record.leaps.has_ran(instant);
    let after = lost.into_iter().chain(in_leap).min().filter(|_| !has_run)?;
    // `after` may lie within a lost leap.
    let after = record.leaps.lost_before(UtcMillis(after.0 + 1)).unwrap_or(after).max(since);
    if let Some(frees_in) = unsettled {
        return Some(if Protection::Early.is_on() && now < instant {
            Answer::Early { wait: instant.since(now) }
        } else {
            Answer::Held { by: record.holder(), frees_in }
        });
    }
    record.leaps.tell_lost(after, instant);
    let after = Some(after).filter(|_| record.is_under(&claim.schedule_hash));
    if lost.is_some() {
        // In a record that was never granted, `lost_after` stays set: it says up to where ticks have their entry.
        record.lost_after = Some(instant).filter(|tick| *tick < record.mark || record.is_as_created());
    }
    let verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    let entry = HistoryEntry::without_run(claim.tick, Cause::Schedule, verdict, now);
    transition.entries.push(HistoryEntry { after, ..entry });
    part_at_leaps(transition, claim.prev);
    Some(Answer::Consumed(verdict))
}

/// Records the lost ticks of a schedule that has ended since `former`, where the record knows the ticks themselves: no replica
/// will claim them.
pub(crate) fn record_lost_ticks(transition: &mut Transition<'_>, former: UtcMillis) {
    let now = transition.server.now;
    let record = transition.record_mut();
    if record.schedule_since == former {
        return;
    }
    let verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    let entry = |tick| HistoryEntry::without_run(Tick(tick), Cause::Schedule, verdict, now);
    let ticks = record.leaps.take_lost_ticks(record.schedule_since);
    transition.entries.extend(ticks.into_iter().map(entry));
}

/// Records the ticks that the schedule before the record's left undecided; that schedule applied after `former`. No replica
/// will run them.
pub(crate) fn record_dropped(transition: &mut Transition<'_>, open: &Open, former: UtcMillis) {
    let (now, front, is_unsettled) =
        (transition.server.now, transition.latest_correct_time, transition.unsettled().is_some());
    let record = transition.record_mut();
    let is_left = |tick: Tick| !record.is_decided(tick, front) && tick.instant() <= record.schedule_since;
    let Some(Dropped { tick, after, count }) = open.dropped.filter(|dropped| is_left(dropped.tick)) else {
        return;
    };
    if !record.is_under(&open.schedule_hash) {
        return;
    }
    // While replicas that know more may still report it, the tick may have run.
    let verdict = match is_unsettled {
        true => Verdict::because(Outcome::Unknown, Reason::StoreReset),
        false => Verdict::because(Outcome::Missed, Reason::Edited),
    };
    let entry = HistoryEntry::without_run(tick, Cause::Schedule, verdict, now);
    let decided = record.decided_before(tick, front);
    let from = if former < tick.instant() { decided.max(former) } else { decided };
    let count = count.filter(|_| after == from);
    let after = Some(from).filter(|_| count != Some(1));
    record.decide(tick, None);
    transition.entries.push(HistoryEntry { after, count: count.filter(|count| *count > 1), ..entry });
}

/// Records the ticks between the mark and the claimed one that no replica claimed, or that the store forgot. Ticks from
/// before the schedule do not belong to it. `leaps`: whether the mark leaps over ticks. Entries that may be withdrawn with
/// a leap are not joined to the entry of earlier ticks.
pub(crate) fn record_passed(transition: &mut Transition<'_>, claim: &Claim, leaps: bool) {
    let (now, front) = (transition.server.now, transition.latest_correct_time);
    let record = transition.record_mut();
    let decided = record.decided_before(claim.tick, front);
    let is_under = record.is_under(&claim.schedule_hash);
    let has_leapt = leaps || record.leaps.iter().any(|leap| leap.to == decided);
    let untold = record.leaps.take_untold(claim.tick.instant());
    let since = record.schedule_since;
    let lost = record.lost_after.take_if(|lost| *lost < claim.tick.instant());
    if lost.is_some() {
        // If the tick lies in an open leap, ticks after it that the store forgot still need their entry.
        record.lost_after = Some(claim.tick.instant()).filter(|tick| *tick < record.mark);
    }
    let lost = lost.map_or(decided, |lost| lost.max(since).min(decided));
    let goes_on = is_under && since <= decided && lost == decided && !has_leapt && untold.is_empty();
    transition.follows = Some(Tick(decided)).filter(|_| goes_on);
    let Some(prev) = claim.prev.filter(|_| is_under) else { return };
    // The store may have lost decisions up to `decided`, and none after it.
    let untold = untold.into_iter().map(|leap| Leap { to: leap.to.min(lost), ..leap });
    let forgotten = Leap { after: lost, to: decided, passed: Passed::Lost };
    let unclaimed = Leap { after: decided, to: prev.instant(), passed: Passed::Open };
    let passed = folded(untold.chain([forgotten, unclaimed]));
    if !Protection::PassedRecorded.is_on() {
        return;
    }
    transition.entries.extend(passed.iter().filter_map(|leap| entry_of(leap, claim, prev, since, now)));
}

/// Merges leaps that lie right after each other, if the same is known of their ticks.
fn folded(leaps: impl Iterator<Item = Leap>) -> Vec<Leap> {
    let mut folded: Vec<Leap> = Vec::new();
    for leap in leaps.filter(|leap| leap.after < leap.to) {
        match folded.last_mut() {
            Some(last) if last.to == leap.after && last.passed == leap.passed => last.to = leap.to,
            _ => folded.push(leap),
        }
    }
    folded
}

/// Returns the entry for the ticks of a leap; `None` if the schedule, which applies since `schedule_since`, has none there before
/// the claimed one. `prev` is the tick right before the claimed one.
fn entry_of(
    leap: &Leap,
    claim: &Claim,
    prev: Tick,
    since: UtcMillis,
    now: UtcMillis,
) -> Option<HistoryEntry> {
    let verdict = match leap.passed {
        Passed::Lost => Verdict::because(Outcome::Unknown, Reason::StoreReset),
        Passed::Told | Passed::Open | Passed::Ran => Verdict::because(Outcome::Missed, claim.gap_reason),
    };
    let after = leap.after.max(since);
    let known = claim.gap.filter(|gap| gap.after == leap.to).map(|gap| gap.before);
    let newest = if prev.instant() <= leap.to { Some(prev) } else { known.unwrap_or(Some(Tick(leap.to))) };
    let newest = newest.filter(|newest| newest.instant() > after)?;
    let count = claim.gap.filter(|gap| gap.after == after && newest == prev).map(|gap| gap.count);
    let entry = HistoryEntry::without_run(newest, Cause::Schedule, verdict, now);
    Some(HistoryEntry { after: Some(after), count, ..entry })
}

/// Splits entries for ticks in a leap and outside of it: the part in a leap may be withdrawn, open ticks have no entry, and
/// a tick that ran has the entry of its run. `before` is the tick before the newest entry's, if that is known.
pub(crate) fn part_at_leaps(transition: &mut Transition<'_>, before: Option<Tick>) {
    let leaps = transition.record_mut().leaps.clone();
    let entries = std::mem::take(&mut transition.entries);
    transition.entries = entries.into_iter().flat_map(|entry| parts(entry, before, &leaps)).collect();
}

fn parts(entry: HistoryEntry, before: Option<Tick>, leaps: &Leaps) -> Vec<HistoryEntry> {
    let Some(after) = entry.after.filter(|_| entry.run.is_none()) else { return vec![entry] };
    let mut to = entry.tick.instant();
    if leaps.has_all_or_none(after, to) && !leaps.has_ran(to) {
        return vec![entry];
    }
    let before = before.map(Tick::instant).filter(|before| *before < to);
    let mut before = if entry.count == Some(1) { Some(after) } else { before };
    let mut parts = Vec::new();
    while to > after {
        let (from, passed) = leaps.last_part(after, to);
        if !matches!(passed, Some(Passed::Open | Passed::Ran)) {
            parts.push(HistoryEntry { tick: Tick(to), after: Some(from), count: None, ..entry.clone() });
        }
        to = before.take().filter(|before| *before < from).unwrap_or(from);
    }
    parts.reverse();
    parts
}
