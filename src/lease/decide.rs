//! The one decision: from a job's record and a request to the next record, the history entries and the answer. A store only
//! has to make it atomic.

use std::time::Duration;

use crate::time::UtcMillis;

use super::rules::transition::{Decision, Transition};
use super::rules::{claim, gaps, holder, operator};
use super::{Answer, Caller, Open, Record, Request, SCHEMA, ScheduleHash, Server};

/// The wait of a job that no replica has ever known. It can be this short because peers' heartbeats come every second.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Decides a request on a job's record at the moment that `server` describes.
pub fn decide(record: Option<&Record>, request: &Request, server: &Server) -> Decision {
    if let Some(newer) = record.filter(|record| record.schema > SCHEMA) {
        let transition = Transition::of(Some(newer), server);
        return transition.answer(Answer::NewerSchema(newer.schema));
    }
    let transition = Transition::of(record, server);
    match request {
        Request::Open(open) => decide_open(transition, open),
        Request::Claim(request) => claim::decide_claim(transition, request),
        Request::Manual(request) => claim::decide_manual(transition, request),
        Request::Renew(request) => holder::decide_renew(transition, request),
        Request::Finish(request) => holder::decide_finish(transition, request),
        Request::Abandon(request) => holder::decide_abandon(transition, request),
        Request::Operate(request) => operator::decide_operate(transition, request),
    }
}

impl Open {
    /// Returns the open request of a caller that only wants the lock (`exec`) and does not schedule the job.
    pub fn by_exec(caller: Caller, lease: Duration, wall: UtcMillis) -> Self {
        Self {
            caller,
            schedule_hash: ScheduleHash::default(),
            schedule_since: UtcMillis(0),
            wall,
            ahead: Vec::new(),
            reopened_ahead_count: 0,
            lease,
            files_agree: false,
            is_known_job: false,
            latest_of_earlier_eras: UtcMillis(0),
            dropped: None,
            pausing: None,
        }
    }
}

fn decide_open(mut transition: Transition<'_>, open: &Open) -> Decision {
    if transition.server.era != open.caller.era {
        return transition.new_era();
    }
    transition.set_latest_correct_time(open.wall);
    if transition.record.is_none() && open.schedule_hash == ScheduleHash::none() {
        return transition.answer(Answer::Opened {
            since: UtcMillis(0),
            pausing: None,
            ahead: None,
            closed: None,
            reopened_ahead_count: 0,
        });
    }
    let wait =
        if open.is_known_job { open.caller.longest_lease(open.lease, Duration::ZERO) } else { FIRST_WAIT };
    if transition.record.is_none() {
        // No tick of an unknown job can have been decided, so the time that the clock showed before it was set back does
        // not count.
        let heard =
            if open.is_known_job { open.caller.latest_store_time } else { open.latest_of_earlier_eras };
        transition.create(&open.caller, heard, wait, open.is_known_job);
    }
    let spans = open.ahead.iter().copied();
    let ahead: Vec<_> = spans.filter(|ahead| !transition.was_returned_after(open, *ahead)).collect();
    ahead.iter().for_each(|ahead| transition.close_ahead(*ahead));
    transition.adopt_era(&open.caller, open.latest_of_earlier_eras, open.lease);
    transition.detect_rollback(&open.caller, open.lease);
    transition.raise_floor(&open.caller);
    transition.wait_for_remembered(open);
    transition.merge_memory(open);
    transition.forget_longer(open);
    ahead.iter().for_each(|ahead| transition.merge_ahead(*ahead, &open.caller));
    transition.reopen();
    let (now, front) = (transition.server.now, transition.latest_correct_time);
    let record = transition.record_mut();
    record.merge_since(open.caller.known_mark, &open.schedule_hash, Some(open.schedule_since));
    let former = record.schedule_since;
    record.reschedule(&open.schedule_hash, open.schedule_since.min(now), now);
    gaps::record_lost_ticks(&mut transition, former);
    gaps::record_dropped(&mut transition, open, former);
    let record = transition.record_mut();
    if let Some(pausing) = &open.pausing {
        record.merge_pausing(pausing);
    }
    record.reopened_ahead_count = record.reopened_ahead_count.max(open.reopened_ahead_count);
    let (since, pausing, reopened_ahead_count) =
        (record.schedule_since, record.pausing(), record.reopened_ahead_count);
    let (ahead, closed) = (record.ahead(front), record.closed_ahead(front));
    transition.answer(Answer::Opened { since, pausing, ahead, closed, reopened_ahead_count })
}
