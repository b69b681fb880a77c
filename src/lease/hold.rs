//! Keeping and giving back the lock: renew, finish, abandon. Each acts only for the run and the fence that it was
//! granted to, and puts back what a store forgot.

use crate::job::{Cause, Outcome, Reason, Tick, UtcMillis, Verdict};

use super::decide::{Decision, Draft};
use super::{Abandon, Answer, Entry, Finish, Holding, LeaseInstant, Phase, Record, Renew};

/// What the record says of a lock that was granted once.
enum Standing {
    /// The run holds it.
    Mine,
    /// The store forgot: no record, or one from before the grant.
    Forgotten,
    /// It ended, or somebody else was granted it.
    Over,
}

fn standing(record: Option<&Record>, holding: &Holding) -> Standing {
    match record {
        None => Standing::Forgotten,
        Some(record) if record.fence < holding.fence => Standing::Forgotten,
        Some(record)
            if record.run == Some(holding.run) && record.fence == holding.fence && record.is_running() =>
        {
            Standing::Mine
        }
        Some(_) => Standing::Over,
    }
}

/// Decides a renewal.
pub(super) fn decide_renew(mut draft: Draft<'_>, renew: &Renew) -> Decision {
    if draft.is_unsynced(renew.expect) {
        return draft.answer(Answer::Unsynced);
    }
    let holding = &renew.holding;
    let until = draft.server.lease_now.plus(holding.lease);
    match standing(draft.record.as_ref(), holding) {
        Standing::Mine => {
            let record = draft.record_mut();
            record.until = until;
            let stop = record.stop == Some(holding.run);
            draft.answer(Answer::Renewed { stop })
        }
        Standing::Forgotten => {
            put_back(&mut draft, holding);
            let record = draft.record_mut();
            record.phase = Phase::Running;
            record.until = until;
            record.ended = None;
            record.last = None;
            record.stop = None;
            draft.answer(Answer::Renewed { stop: false })
        }
        Standing::Over => draft.answer(Answer::Lost),
    }
}

/// Decides the end of a run.
pub(super) fn decide_finish(mut draft: Draft<'_>, finish: &Finish) -> Decision {
    let holding = &finish.holding;
    match standing(draft.record.as_ref(), holding) {
        Standing::Mine => release(draft.record_mut(), finish.verdict),
        Standing::Forgotten if is_held_by_another(draft.record.as_ref(), holding) => {
            // Two lives of the store gave the lock to two: the other, with the lower fence, learns of its loss when it
            // renews, and until then nobody else is granted the lock.
            let record = draft.record_mut();
            record.fence = holding.fence;
            raise_mark(record, holding);
        }
        Standing::Forgotten => {
            put_back(&mut draft, holding);
            release(draft.record_mut(), finish.verdict);
        }
        Standing::Over => return draft.answer(Answer::AlreadyDecided),
    }
    let now = draft.server.now;
    if let Some(record) = draft.record.as_mut().filter(|record| !record.is_running()) {
        record.ended = Some(now);
    }
    draft.entries.push(entry_of(finish, now));
    draft.answer(Answer::Finished)
}

fn is_held_by_another(record: Option<&Record>, holding: &Holding) -> bool {
    record.is_some_and(|record| record.is_running() && record.run != Some(holding.run))
}

fn release(record: &mut Record, verdict: Verdict) {
    record.phase = Phase::Idle;
    record.until = LeaseInstant::FREE;
    record.last = Some(verdict);
    record.stop = None;
}

fn entry_of(finish: &Finish, now: UtcMillis) -> Entry {
    let holding = &finish.holding;
    Entry {
        run: Some(holding.run),
        node: Some(holding.node.clone()),
        fence: Some(holding.fence),
        attempt: Some(finish.attempt),
        exit_code: finish.exit_code,
        signal: finish.signal,
        started: Some(holding.started),
        tail: Some(finish.tail.clone()).filter(|tail| !tail.is_empty()),
        ..Entry::without_run(holding.tick, holding.cause, finish.verdict, now)
    }
}

/// Decides that nothing was started under a lock.
pub(super) fn decide_abandon(mut draft: Draft<'_>, abandon: &Abandon) -> Decision {
    let now = draft.server.now;
    let Some(record) = draft.record.as_mut().filter(|r| r.run == Some(abandon.run) && r.is_running()) else {
        return draft.answer(Answer::AlreadyDecided);
    };
    if let Some(tick) =
        record.tick.filter(|tick| tick.instant() == record.mark && record.cause != Some(Cause::Manual))
    {
        give_back(record, tick);
    } else {
        draft.end_run(Verdict::because(Outcome::Missed, Reason::Abandoned), now);
        // Nothing ran, so nothing covered any later instant.
        let record = draft.record_mut();
        record.started = None;
        record.ended = None;
    }
    draft.answer(Answer::Abandoned)
}

/// Makes the tick as claimable as it was before.
fn give_back(record: &mut Record, tick: Tick) {
    record.phase = Phase::Idle;
    record.until = LeaseInstant::FREE;
    record.stop = None;
    record.started = None;
    record.ended = None;
    if record.tries > 1 {
        record.tries -= 1;
        record.last = Some(Verdict::because(Outcome::Interrupted, Reason::NodeLost));
    } else {
        record.mark = UtcMillis(tick.as_millis() - 1);
    }
}

/// Puts back what a store that forgot must know of a granted lock. Its era stays another one, so that the next claim
/// still waits and raises the mark as after any loss of memory.
fn put_back(draft: &mut Draft<'_>, holding: &Holding) {
    if draft.record.is_none() {
        draft.record = Some(Record::empty(Draft::no_era()));
    }
    let record = draft.record_mut();
    record.fence = holding.fence;
    record.run = Some(holding.run);
    record.tick = Some(holding.tick);
    record.tries = holding.tries;
    record.cause = Some(holding.cause);
    record.started = Some(holding.started);
    record.lease = holding.lease;
    record.owner = Some(holding.node.clone());
    raise_mark(record, holding);
}

/// The tick of a run that was granted stays decided; a manual run decides none.
fn raise_mark(record: &mut Record, holding: &Holding) {
    if holding.cause != Cause::Manual {
        record.mark = record.mark.max(holding.tick.instant());
        record.sched = holding.sched.clone();
    }
}
