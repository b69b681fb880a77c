//! Keeping and releasing the lock: renew, finish, abandon. Renew and finish act only for the run and the fence that the
//! lock was granted to, and put back what the store forgot. Abandon acts only for the run.

use crate::job::{Cause, Outcome, Reason, Tick, Verdict};
use crate::lease::{
    Abandon, Answer, Finish, HistoryEntry, Leap, Lease, LeaseInstant, Passed, Phase, Protection, Record,
    Renew, ScheduleHash, Server,
};
use crate::time::UtcMillis;

use super::transition::{Decision, SETTLING, Transition};

/// What the record says about a lock that was granted.
enum Ownership {
    /// The run holds the lock.
    Mine,
    /// The store forgot the grant: there is no record, or one from before the grant.
    Forgotten,
    /// The run has ended, or another run was granted the lock.
    Over,
}

fn standing(record: Option<&Record>, lease: &Lease) -> Ownership {
    match record {
        None => Ownership::Forgotten,
        Some(record) if record.fence < lease.fence => Ownership::Forgotten,
        Some(record) if record.is_running() && is_holder(record, lease) => Ownership::Mine,
        Some(_) => Ownership::Over,
    }
}

fn is_holder(record: &Record, lease: &Lease) -> bool {
    !Protection::HolderCheck.is_on() || record.run == Some(lease.run) && record.fence == lease.fence
}

/// Decides a renewal.
pub(crate) fn decide_renew(mut transition: Transition<'_>, renew: &Renew) -> Decision {
    if transition.is_unsynced(renew.expect) {
        return transition.answer(Answer::Unsynced);
    }
    let lease = &renew.lease;
    match standing(transition.record.as_ref(), lease) {
        Ownership::Mine => {}
        Ownership::Forgotten => take_back(&mut transition, renew),
        Ownership::Over => return transition.answer(Answer::Lost),
    }
    let server = transition.server;
    let record = transition.record_mut();
    // Never earlier than before: a clock that was set back may be set right again.
    record.locked_until = record.locked_until.max(server.lease_now.plus(lease.length));
    record.ended = Some(server.now);
    record.lease = lease.length;
    let stop = record.stop_reason(lease.run);
    transition.answer(Answer::Renewed { stop })
}

/// Gives the lock back to its holder: the store forgot it while it was held.
fn take_back(transition: &mut Transition<'_>, renew: &Renew) {
    let lease = &renew.lease;
    if is_held_by_another(transition.record.as_ref(), lease) {
        // Two eras granted the lock to two runs: the other holder learns of its loss when it renews, and stops.
        let now = transition.server.now;
        transition.end_run(Verdict::because(Outcome::Interrupted, Reason::LockLost), now);
    }
    put_back(transition, lease, renew.leapt);
    let record = transition.record_mut();
    record.phase = Phase::Running;
    record.verdict = None;
    record.clear_stop();
}

/// Decides the end of a run.
pub(crate) fn decide_finish(mut transition: Transition<'_>, finish: &Finish) -> Decision {
    let lease = &finish.lease;
    let now = transition.server.now;
    let mut ended = finish.ended.min(now).max(lease.started);
    let standing = standing(transition.record.as_ref(), lease);
    // Without an era this may be a repeated finish, sent to a record that went back while the history did not.
    let is_first = matches!(standing, Ownership::Mine) && finish.era != Transition::no_era();
    transition.ends = Some(lease.run).filter(|_| is_first);
    match standing {
        Ownership::Mine => {
            // After a loss of memory the wait continues: the store may have forgotten a later holder. If the record is of
            // the era in which the lock was confirmed, and the store is in another, the next claim waits in any case. A
            // store that went back within the era waits since then, unless the holder has renewed the lock since.
            if transition.has_record_of(&finish.era) && !transition.may_have_lost_since_last_sign() {
                transition.record_mut().locked_until = LeaseInstant::FREE;
            }
            // A finish that was reconstructed after a crash may carry an older end than the last sign of life in the record.
            if finish.verdict.outcome == Outcome::Interrupted {
                ended =
                    ended.max(transition.record_mut().ended.filter(|alive| *alive <= now).unwrap_or(ended));
            }
            end(transition.record_mut(), finish, ended);
        }
        Ownership::Forgotten if is_held_by_another(transition.record.as_ref(), lease) => {
            // Two eras granted the lock to two runs. The other run, with the lower fence, learns of its loss when it renews
            // or claims again; until then no other run is granted the lock.
            let Record { locked_until: until, ended: alive, started, .. } = *transition.record_mut();
            // As far as the store knows, the other run covered no instant after its last sign of life.
            let ended = alive.or(started).unwrap_or(now);
            transition.end_run(Verdict::because(Outcome::Interrupted, Reason::LockLost), ended);
            let record = transition.record_mut();
            record.locked_until = until;
            record.fence = lease.fence;
            // The other run may have ended well, and the store may have forgotten that.
            record.forgo_rerun();
            raise_mark(record, lease, now, finish.leapt);
        }
        Ownership::Forgotten => {
            put_back(&mut transition, lease, finish.leapt);
            let record = transition.record_mut();
            end(record, finish, ended);
            // The store may have forgotten a rerun together with the run.
            record.forgo_rerun();
        }
        // The end of a later run was reported before this one.
        Ownership::Over if is_untold(transition.record_mut(), lease) => tell(transition.record_mut(), lease),
        Ownership::Over if was_granted_again(&transition, lease) => tell_also(transition.record_mut(), lease),
        Ownership::Over => {
            let record = transition.record_mut();
            let ended_by_itself = !finish.verdict.outcome.was_cut_short();
            if ended_by_itself && record.run == Some(lease.run) && record.cut_short().is_some() {
                // It was taken for lost.
                record.forgo_rerun();
            }
            return transition.answer(Answer::AlreadyDecided);
        }
    }
    transition.entries.push(entry_of(finish, ended));
    transition.answer(Answer::Finished)
}

/// Whether the store names another run as the holder. A run does not count that was granted the same try of the same tick
/// before this one and never renewed the lock: nothing was started under it. It was abandoned, and the store forgot that.
fn is_held_by_another(record: Option<&Record>, lease: &Lease) -> bool {
    record.is_some_and(|record| {
        let was_given_back = is_same_try(record, lease) && record.ended == record.started;
        record.is_running() && record.run != Some(lease.run) && !was_given_back
    })
}

/// Whether the record names the same try of the same tick.
fn is_same_try(record: &Record, lease: &Lease) -> bool {
    lease.cause != Cause::Manual
        && record.cause != Some(Cause::Manual)
        && record.tick == Some(lease.tick)
        && record.tries == lease.tries
}

/// Whether the store forgot this grant, and granted the same try to another run, which is running as far as it knows. The end
/// of this run has no entry yet.
fn was_granted_again(transition: &Transition<'_>, lease: &Lease) -> bool {
    transition.may_have_lost_since_grant()
        && transition.record.as_ref().is_some_and(|record| {
            record.is_running()
                && record.run != Some(lease.run)
                && is_same_try(record, lease)
                && !record.leaps.has_ran(lease.tick.instant())
        })
}

fn end(record: &mut Record, finish: &Finish, ended: UtcMillis) {
    record.phase = Phase::Idle;
    record.ended = Some(ended);
    record.verdict = Some(finish.verdict);
    record.forgo_rerun_if_stopped();
    record.clear_stop();
}

fn entry_of(finish: &Finish, ended: UtcMillis) -> HistoryEntry {
    let lease = &finish.lease;
    HistoryEntry {
        run: Some(lease.run),
        node: Some(lease.node.clone()),
        fence: Some(lease.fence),
        attempt: Some(finish.attempt),
        exit_code: finish.exit_code,
        signal: finish.signal,
        started: Some(lease.started),
        tail: Some(finish.tail.clone()).filter(|tail| !tail.is_empty()),
        ..HistoryEntry::without_run(lease.tick, lease.cause, finish.verdict, ended)
    }
}

/// Decides an abandon: nothing was started under the lock.
pub(crate) fn decide_abandon(mut transition: Transition<'_>, abandon: &Abandon) -> Decision {
    let now = transition.server.now;
    transition.set_latest_correct_time(now);
    let front = transition.latest_correct_time;
    let remembers = transition.remembers(&abandon.era) && !transition.may_have_lost_since_grant();
    let Some(record) = transition.record.as_mut().filter(|r| r.run == Some(abandon.run) && r.is_running())
    else {
        return transition.answer(Answer::AlreadyDecided);
    };
    let until = record.locked_until;
    let is_manual = record.cause == Some(Cause::Manual);
    // A tick that has not come does not belong to a schedule that is over by now. It belongs to the next schedule, if that
    // has it.
    let is_ahead = !is_manual && record.tick.is_some_and(|tick| now < tick.instant());
    // No replica would claim a tick of an older schedule again.
    let is_older = !is_manual && record.tick.is_some_and(|tick| tick.instant() <= record.schedule_since);
    let is_edited = (abandon.edited || is_older) && !is_ahead;
    // A run that an operator stopped does not run on another replica either.
    let is_killed = record.stop_reason(abandon.run) == Some(Reason::Operator);
    let is_opened = !is_manual && record.tick.is_some_and(|tick| tick.instant() > record.mark);
    // Without a place for its leap, a lost tick would have no entry.
    let has_no_place = !is_manual && record.leaps.is_full();
    match record.tick.filter(|_| remembers) {
        // An operator has set back the mark since: the tick runs when it comes.
        _ if is_opened => release(record),
        // The tick stays decided, and has the entry of its first run.
        _ if record.cause == Some(Cause::Rerun) => {
            give_rerun_back(record);
            // In another era, the rerun may have been granted to another replica as well.
            if !remembers {
                record.forgo_rerun();
            }
        }
        Some(tick) if record.is_newest(tick, front) && !is_manual && !is_edited && !is_killed => {
            give_back(record, tick, front);
        }
        _ if is_killed && (remembers || is_manual) => {
            transition.end_run(Verdict::because(Outcome::Killed, Reason::Operator), now);
        }
        // The store may have forgotten that the tick ran on another replica.
        _ if !remembers && (is_edited || has_no_place) => {
            transition.end_run(Verdict::because(Outcome::Unknown, Reason::StoreReset), now);
        }
        _ if !remembers && !is_manual => lose_tick(record),
        _ => {
            let reason = if is_edited { Reason::Edited } else { Reason::Abandoned };
            transition.end_run(Verdict::because(Outcome::Missed, reason), now);
        }
    }
    let record = transition.record_mut();
    // Nothing ran, so nothing covered any later instant. How late a rerun may be counts from now.
    record.started = None;
    record.ended = Some(now).filter(|_| record.cut_short().is_some());
    // After a loss of memory the wait continues: the store may have forgotten a later holder.
    record.locked_until = if remembers { LeaseInstant::FREE } else { until };
    transition.answer(Answer::Abandoned)
}

/// Ends the run: nothing was started.
fn release(record: &mut Record) {
    record.phase = Phase::Idle;
    record.clear_stop();
}

/// Makes the tick claimable again, as before its grant.
fn give_back(record: &mut Record, tick: Tick, front: UtcMillis) {
    release(record);
    let before = UtcMillis(tick.as_millis() - 1);
    record.leaps.forget_ran(|leap| leap.covers(tick.instant()));
    if tick.instant() == record.mark {
        record.mark = before;
    } else {
        record.leaps.give_back(tick.instant());
    }
    record.open_again(tick.instant(), front);
    // A schedule that applied only after that tick, because the tick was decided, now applies from before it.
    record.schedule_since = record.schedule_since.min(before);
}

/// Releases the run and marks its tick as lost: it has no entry until a replica reports that it ran, or until a claim records
/// it as forgotten.
fn lose_tick(record: &mut Record) {
    release(record);
    let Some(tick) = record.tick.take().map(Tick::instant) else { return };
    let after = UtcMillis(tick.0 - 1);
    // As where a tick is given back: the schedule may apply only after that tick because the tick was decided.
    record.schedule_since = record.schedule_since.min(after);
    // If an operator had opened the tick, and the store forgot decisions since, a leap around the tick tells of it already.
    if !record.leaps.cover(tick) {
        record.leaps.add(Leap { after, to: tick, passed: Passed::Lost });
    }
}

/// Makes the rerun claimable again, as before its grant, unless a stop of the run was requested.
fn give_rerun_back(record: &mut Record) {
    record.phase = Phase::Idle;
    record.tries -= 1;
    record.verdict = Some(Verdict::because(Outcome::Interrupted, Reason::NodeLost));
    record.forgo_rerun_if_stopped();
    record.clear_stop();
}

/// Puts back what a store that forgot must know of a granted lock. A record that was missing gets no era, so that the next
/// claim waits and raises the mark, as after any loss of memory.
fn put_back(transition: &mut Transition<'_>, lease: &Lease, leapt: Option<UtcMillis>) {
    let Server { now, lease_now, .. } = *transition.server;
    let record = transition.record.get_or_insert_with(|| {
        let mut record =
            Record { schedule_hash: lease.schedule_hash.clone(), ..Record::empty(Transition::no_era()) };
        record.pass_unrecorded_to(decided_up_to(lease), now, leapt);
        record.settles_at = lease_now.plus(SETTLING);
        Record { lost_after: None, ..record }
    });
    if record.is_as_created() {
        // The record was opened by a replica that had not seen the earlier ticks. The holder had seen them, up to its own.
        record.lost_after =
            record.lost_after.or(Some(decided_up_to(lease)).filter(|told| *told < record.mark));
    }
    if lease.cause == Cause::Manual
        && record.order_at.is_some_and(|at| at <= lease.started)
        && let Some(order) = record.order.take()
    {
        // A manual run took the order after it was given: this one, unless this one is `exec`.
        (record.order_taken, record.order_taken_by) = (Some(order), Some(lease.run));
    }
    record.fence = lease.fence;
    record.run = Some(lease.run);
    record.tick = Some(lease.tick);
    record.tries = lease.tries;
    record.cause = Some(lease.cause);
    record.started = Some(lease.started);
    record.lease = record.lease.max(lease.length);
    record.owner = Some(lease.node.clone());
    raise_mark(record, lease, now, leapt);
}

/// Raises the mark to what was decided when the lock was granted.
fn raise_mark(record: &mut Record, lease: &Lease, now: UtcMillis, leapt: Option<UtcMillis>) {
    record.pass_unrecorded_to(decided_up_to(lease), now, leapt);
    if lease.cause != Cause::Manual {
        tell(record, lease);
    }
    // The replica that opened the record may know a newer schedule than the one that started the run.
    if record.schedule_hash == ScheduleHash::default() {
        record.schedule_hash = lease.schedule_hash.clone();
    }
}

/// Whether the store forgot the tick, and it has no entry.
fn is_untold(record: &Record, lease: &Lease) -> bool {
    let tick = lease.tick.instant();
    let was_forgotten = record.lost_after.is_some_and(|lost| lost < tick && tick <= record.mark)
        || record.leaps.lost_before(tick).is_some();
    let is_told = record.tick == Some(lease.tick) || record.leaps.has_ran(tick);
    lease.cause != Cause::Manual && was_forgotten && !is_told
}

/// Records that the tick's only entry is the one of its run: it is no forgotten tick without an entry, and lies in no open leap.
fn tell(record: &mut Record, lease: &Lease) {
    let tick = lease.tick.instant();
    record.leaps.except_told(tick);
    if record.lost_after.is_some_and(|lost| lost < tick && tick <= record.mark) {
        let prev = lease.prev.map(Tick::instant).filter(|_| record.is_under(&lease.schedule_hash));
        record.leaps.tell_ran(prev.unwrap_or(UtcMillis(tick.0 - 1)), tick);
    }
}

/// Records that the tick has the entry of this run, and needs no other if the run that the record names is abandoned. A tick
/// above the mark, which an operator has opened, needs none in any case.
fn tell_also(record: &mut Record, lease: &Lease) {
    let tick = lease.tick.instant();
    if tick <= record.mark {
        record.leaps.tell_ran(UtcMillis(tick.0 - 1), tick);
    }
}

/// Returns the mark of the grant. It includes the tick itself, unless the run is manual: that decides no tick.
fn decided_up_to(lease: &Lease) -> UtcMillis {
    match lease.cause {
        Cause::Manual => lease.mark,
        Cause::Schedule | Cause::CatchUp | Cause::Rerun => lease.mark.max(lease.tick.instant()),
    }
}
