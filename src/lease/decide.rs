//! The one decision: from a job's record and a request to the next record, the entries of history, and the answer.
//! Everything else only makes it atomic.

use std::time::Duration;

use crate::time::UtcMillis;

use super::rules::transition::{Decision, Draft};
use super::rules::{claim, gaps, holder, operator};
use super::{Answer, Caller, Open, Record, Request, SCHEMA, ScheduleHash, Server};

/// A job that nobody has ever known waits only this long: its peers' heartbeats come every second.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Decides a request on a job's record at the moment that `server` describes.
pub fn decide(record: Option<&Record>, request: &Request, server: &Server) -> Decision {
    if let Some(newer) = record.filter(|record| record.schema > SCHEMA) {
        let draft = Draft::of(Some(newer), server);
        return draft.answer(Answer::NewerSchema(newer.schema));
    }
    let draft = Draft::of(record, server);
    match request {
        Request::Open(open) => decide_open(draft, open),
        Request::Claim(request) => claim::decide_claim(draft, request),
        Request::Manual(request) => claim::decide_manual(draft, request),
        Request::Renew(request) => holder::decide_renew(draft, request),
        Request::Finish(request) => holder::decide_finish(draft, request),
        Request::Abandon(request) => holder::decide_abandon(draft, request),
        Request::Operate(request) => operator::decide_operate(draft, request),
    }
}

impl Open {
    /// By one who wants the lock alone, and has no say in when the job runs.
    pub fn by_guest(caller: Caller, lease: Duration, wall: UtcMillis) -> Self {
        Self {
            caller,
            sched: ScheduleHash::default(),
            since: UtcMillis(0),
            wall,
            ahead: None,
            returns_ahead: 0,
            lease,
            agreed: false,
            known: false,
            earlier: UtcMillis(0),
            dropped: None,
            pausing: None,
        }
    }
}

fn decide_open(mut draft: Draft<'_>, open: &Open) -> Decision {
    if draft.server.era != open.caller.era {
        return draft.new_era();
    }
    draft.look_by(open.wall);
    if draft.record.is_none() && open.sched == ScheduleHash::none() {
        return draft.answer(Answer::Opened {
            since: UtcMillis(0),
            pausing: None,
            ahead: None,
            closed: None,
            returns_ahead: 0,
        });
    }
    let wait = if open.known { open.caller.longest_lease(open.lease, Duration::ZERO) } else { FIRST_WAIT };
    if draft.record.is_none() {
        // Nobody can have decided anything of a job that nobody knows.
        let heard = if open.known { open.caller.heard } else { open.earlier };
        draft.create(&open.caller, heard, (wait, open.known));
    }
    let ahead = open.ahead.filter(|ahead| !draft.was_returned_after(open, *ahead));
    if let Some(ahead) = ahead {
        draft.close_ahead(ahead);
    }
    draft.adopt_era(&open.caller, open.earlier, open.lease);
    draft.fall_back(&open.caller, open.lease);
    draft.raise_floor(&open.caller);
    draft.wait_for_remembered(open);
    draft.recall(open);
    draft.forget_longer(open);
    if let Some(ahead) = ahead {
        draft.recall_ahead(ahead, &open.caller);
    }
    draft.reopen();
    let (now, front) = (draft.server.now, draft.front);
    let record = draft.record_mut();
    record.recall_since(open.caller.seen, &open.sched, Some(open.since));
    let former = record.since;
    record.reschedule(&open.sched, open.since.min(now), now);
    gaps::record_dropped(&mut draft, open, former);
    let record = draft.record_mut();
    if let Some(pausing) = &open.pausing {
        record.recall_pausing(pausing);
    }
    record.returns_ahead = record.returns_ahead.max(open.returns_ahead);
    let (since, pausing, returns_ahead) = (record.since, record.pausing(), record.returns_ahead);
    let (ahead, closed) = (record.ahead(front), record.closed_ahead(front));
    draft.answer(Answer::Opened { since, pausing, ahead, closed, returns_ahead })
}
