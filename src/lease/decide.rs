//! The one decision: from a job's record and a request to the next record, the entries of history, and the answer.
//! Everything else only makes it atomic.

use std::time::Duration;

use crate::job::{Cause, Tick, UtcMillis, Verdict};

use super::{
    Answer, Caller, Entry, Era, LeaseInstant, Memory, Open, Phase, Record, Reply, Request, SCHEMA, Server,
    claim, hold,
};

/// A request held up on its way for longer than this, or a clock stepped by more, is answered with *unsynced*.
pub(super) const SYNC_TOLERANCE: Duration = Duration::from_secs(1);

/// A tick may be granted this much before its instant by the store's clock: replicas' clocks differ a little.
pub(super) const EARLY_TOLERANCE: Duration = Duration::from_millis(200);

/// A job that nobody has ever known waits only this long: its peers' heartbeats come every second.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(2);

/// What a store has to make atomic: write `record`, append `entries`, answer `reply`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The record to store; `None` where there was none, and none is made.
    pub record: Option<Record>,
    /// The entries to append, oldest first.
    pub entries: Vec<Entry>,
    /// The answer.
    pub reply: Reply,
}

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
        Request::Renew(request) => hold::decide_renew(draft, request),
        Request::Finish(request) => hold::decide_finish(draft, request),
        Request::Abandon(request) => hold::decide_abandon(draft, request),
    }
}

fn decide_open(mut draft: Draft<'_>, open: &Open) -> Decision {
    if draft.server.era != open.caller.era {
        return draft.new_era();
    }
    let wait = if open.known { open.lease.max(open.caller.largest_lease) } else { FIRST_WAIT };
    if draft.record.is_none() {
        draft.create(&open.caller, wait);
        draft.record_mut().sched = open.sched.clone();
    }
    draft.adopt_era(&open.caller, open.lease);
    draft.recall(open);
    let sched = draft.record_mut().sched.clone();
    draft.answer(Answer::Opened { sched })
}

/// A decision in the making.
pub(super) struct Draft<'a> {
    pub(super) record: Option<Record>,
    pub(super) entries: Vec<Entry>,
    pub(super) server: &'a Server,
}

impl<'a> Draft<'a> {
    fn of(record: Option<&Record>, server: &'a Server) -> Self {
        Self { record: record.cloned(), entries: Vec::new(), server }
    }

    pub(super) fn answer(self, answer: Answer) -> Decision {
        let mark = self.record.as_ref().map(|record| record.mark);
        let reply = Reply { now: self.server.now, mark, answer };
        Decision { record: self.record, entries: self.entries, reply }
    }

    pub(super) fn new_era(self) -> Decision {
        let era = self.server.era.clone();
        self.answer(Answer::NewEra(era))
    }

    /// The record, which the caller knows to be there.
    pub(super) fn record_mut(&mut self) -> &mut Record {
        self.record.as_mut().expect("the caller has made sure that there is a record")
    }

    /// Rule 1: whether the request came when it was expected.
    pub(super) fn is_unsynced(&self, expect: UtcMillis) -> bool {
        let now = self.server.now;
        let off = now.since(expect).max(expect.since(now));
        self.server.memory == Memory::Forgetful && off > SYNC_TOLERANCE
    }

    /// Opens a missing record: nothing up to now is granted, and nothing at all before `wait` has passed.
    pub(super) fn create(&mut self, caller: &Caller, wait: Duration) {
        let mut record = Record::empty(self.server.era.clone());
        record.mark = self.server.now.max(caller.heard).plus(EARLY_TOLERANCE);
        record.until = self.server.lease_now.plus(wait);
        record.lease = wait;
        record.lost = caller.seen.filter(|seen| *seen < record.mark);
        self.record = Some(record);
    }

    /// Rule 4: a record of another era waits one more lease, and may have lost decisions up to what was heard.
    pub(super) fn adopt_era(&mut self, caller: &Caller, lease: Duration) {
        let server = self.server;
        let record = self.record_mut();
        if record.era == server.era {
            return;
        }
        let was_missing = record.era == Self::no_era();
        record.era = server.era.clone();
        let wait = record.lease.max(lease).max(caller.largest_lease);
        match server.memory {
            // The machine was restarted: nothing is forgotten, but the lease clock began anew.
            Memory::Durable if !was_missing && !record.is_running() => {
                record.until = LeaseInstant::FREE;
                return;
            }
            Memory::Durable if !was_missing => record.until = server.lease_now.plus(wait),
            Memory::Durable | Memory::Forgetful => {
                record.until = record.until.max(server.lease_now.plus(wait));
                // Of a record that its holder put back, everything else up to now may have been lost.
                let heard = if was_missing { server.now.max(caller.heard) } else { caller.heard };
                record.pass_unrecorded(heard.plus(EARLY_TOLERANCE));
            }
        }
        // Everyone else waits as long, however small their own leases.
        record.lease = wait;
    }

    /// Whether nothing can have been forgotten since `era`, the life of the store in which a lock was confirmed.
    pub(super) fn remembers(&self, era: &Era) -> bool {
        self.server.memory == Memory::Durable || self.server.era == *era
    }

    /// Rule 4 by everyone who remembers: whoever came first in this era may have known less of earlier ones.
    fn recall(&mut self, open: &Open) {
        let heard = open.caller.heard;
        if self.server.memory == Memory::Durable || heard == UtcMillis(0) {
            return;
        }
        let record = self.record_mut();
        if record.run.is_none() {
            // Opened by one who had not seen the ticks before.
            record.lost = record.lost.or(open.caller.seen.filter(|seen| *seen < record.mark));
        }
        record.pass_unrecorded(heard.plus(EARLY_TOLERANCE));
        if record.until > LeaseInstant::FREE {
            record.lease = record.lease.max(open.lease).max(open.caller.largest_lease);
        }
    }

    /// For how long the caller has surely watched a steady clock.
    pub(super) fn calm(&self, caller: &Caller) -> Duration {
        match self.server.memory {
            Memory::Forgetful => caller.calm,
            Memory::Durable => Duration::MAX,
        }
    }

    /// Ends what the record calls running, with an entry.
    pub(super) fn end_run(&mut self, verdict: Verdict, ended: UtcMillis) {
        let record = self.record_mut();
        let mut entry = Entry::without_run(
            record.tick.unwrap_or(Tick(record.mark)),
            record.cause.unwrap_or(Cause::Schedule),
            verdict,
            ended,
        );
        entry.run = record.run;
        entry.node = record.owner.clone();
        entry.fence = Some(record.fence);
        entry.started = record.started;
        record.phase = Phase::Idle;
        record.until = LeaseInstant::FREE;
        record.ended = Some(ended);
        record.last = Some(verdict);
        record.stop = None;
        self.entries.push(entry);
    }

    /// The era of a record that must be opened anew by the next claim.
    pub(super) fn no_era() -> Era {
        Era::default()
    }
}
