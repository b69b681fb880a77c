//! A decision in the making: the record as it will be, the entries so far, and the rules that several requests share.

use std::time::Duration;

use crate::job::{Cause, Fence, RunId, Tick, Verdict};
use crate::lease::{
    Answer, Caller, Era, HistoryEntry, Leap, LeaseInstant, Memory, Open, Phase, Protection, Record, Reply,
    Server,
};
use crate::time::UtcMillis;

use super::early::EARLY_TOLERANCE;

/// A request held up on its way for longer than this, or a clock stepped by more, is answered with *unsynced*.
pub(crate) const SYNC_TOLERANCE: Duration = Duration::from_secs(1);

/// Every replica that reaches the store has learnt of another life of it by then, and has told what it remembers.
pub(crate) const SETTLING: Duration = Duration::from_secs(5);

/// Between two heartbeats no replica is granted so many fences. In milliseconds of a clock: ten seconds.
const UNTOLD_FENCES: i64 = 10_000;

/// What a store has to make atomic: write `record`, append `entries`, answer `reply`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The record to store; `None` where there was none, and none is made.
    pub record: Option<Record>,
    /// The entries to append, oldest first.
    pub entries: Vec<HistoryEntry>,
    /// Where the first of them only goes on: with the ticks right after this one. An entry that ends with it, and can be
    /// joined, gives way to one for both.
    pub follows: Option<Tick>,
    /// Entries of ticks in these leaps that did not run are taken back: they were made by a clock that was ahead.
    pub retracted: Vec<Leap>,
    /// This run is told of for the first time. Others may have their entry already: the store forgot their end, or went back, and the
    /// history is kept apart. No second one is appended.
    pub ends: Option<RunId>,
    /// The answer.
    pub reply: Reply,
}

impl Decision {
    /// The entries to append after the newest one so far, and whether that gives way to the first of them.
    pub fn entries_after(&self, newest: Option<&HistoryEntry>) -> (bool, Vec<HistoryEntry>) {
        let mut entries = self.entries.clone();
        let before = newest.filter(|newest| self.follows == Some(newest.tick));
        let joined = before.zip(entries.first()).and_then(|(before, first)| before.joined(first));
        let gives_way = joined.is_some();
        joined.into_iter().for_each(|joined| entries[0] = joined);
        (gives_way, entries)
    }

    /// Whether the entry is taken back.
    pub fn retracts(&self, entry: &HistoryEntry) -> bool {
        let after = entry.after.unwrap_or(UtcMillis(entry.tick.as_millis() - 1));
        let is_in = |leap: &Leap| leap.after <= after && entry.tick.instant() <= leap.to;
        entry.run.is_none() && self.retracted.iter().any(is_in)
    }

    /// Whether the run of the entry may have one already.
    pub fn may_repeat(&self, entry: &HistoryEntry) -> bool {
        entry.run.is_some() && entry.run != self.ends
    }

    /// Whether the entry is that of a run which has one in the history.
    pub fn repeats(&self, entry: &HistoryEntry, history: &[HistoryEntry]) -> bool {
        self.may_repeat(entry) && history.iter().any(|other| other.run == entry.run)
    }

    /// Appends the entries to a history.
    pub fn append_to(&self, history: &mut Vec<HistoryEntry>) {
        history.retain(|entry| !self.retracts(entry));
        let (gives_way, mut entries) = self.entries_after(history.last());
        history.truncate(history.len() - usize::from(gives_way));
        entries.retain(|entry| !self.repeats(entry, history));
        history.extend(entries);
    }
}

/// The mark of a store that forgot, when somebody had heard it at this instant: any tick up to it may be decided.
pub(crate) fn maybe_decided(heard: UtcMillis) -> UtcMillis {
    if Protection::MarkReset.is_on() { heard.plus(EARLY_TOLERANCE) } else { UtcMillis(0) }
}

/// A decision in the making.
pub(crate) struct Transition<'a> {
    pub(crate) record: Option<Record>,
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) follows: Option<Tick>,
    pub(crate) retracted: Vec<Leap>,
    pub(crate) ends: Option<RunId>,
    /// No clock that is right shows more: the store's and the caller's. The latest instant of all where that is of no matter.
    pub(crate) front: UtcMillis,
    pub(crate) server: &'a Server,
}

impl<'a> Transition<'a> {
    pub(crate) fn of(record: Option<&Record>, server: &'a Server) -> Self {
        let (record, front) = (record.cloned(), UtcMillis(i64::MAX));
        let (entries, retracted) = (Vec::new(), Vec::new());
        Self { record, entries, follows: None, retracted, ends: None, front, server }
    }

    pub(crate) fn answer(self, answer: Answer) -> Decision {
        let mark = self.record.as_ref().map(|record| record.decided_up_to(self.front));
        let lease = self.record.as_ref().map(|record| record.lease);
        let rerun = self.record.as_ref().and_then(|record| record.rerun(self.server.lease_now));
        let reply = Reply { now: self.server.now, mark, lease, rerun, answer };
        let Self { record, entries, follows, retracted, ends, .. } = self;
        Decision { record, entries, follows, retracted, ends, reply }
    }

    pub(crate) fn new_era(self) -> Decision {
        let era = self.server.era.clone();
        self.answer(Answer::NewEra(era))
    }

    /// The record, which the caller knows to be there.
    pub(crate) fn record_mut(&mut self) -> &mut Record {
        self.record.as_mut().expect("the caller has made sure that there is a record")
    }

    /// Rule 1: whether the request came when it was expected.
    pub(crate) fn is_unsynced(&self, expect: UtcMillis) -> bool {
        Protection::Expect.is_on() && self.server.memory == Memory::Forgetful && self.is_off(expect)
    }

    /// Whether the store's clock shows another time than the caller reckons.
    pub(crate) fn is_off(&self, expect: UtcMillis) -> bool {
        let now = self.server.now;
        now.since(expect).max(expect.since(now)) > SYNC_TOLERANCE
    }

    /// Opens a missing record: nothing up to now, or to what was heard of it, is granted, and nothing at all before `wait`
    /// has passed. Of a job that is not `known` no tick was ever decided.
    pub(crate) fn create(&mut self, caller: &Caller, heard: UtcMillis, (wait, known): (Duration, bool)) {
        let mut record = Record::empty(self.server.era.clone());
        let (now, leapt) = (self.server.now, if known { caller.leapt } else { Some(UtcMillis(0)) });
        record.pass_unrecorded(maybe_decided(now.max(heard)), now, leapt);
        if let Some(seen) = caller.seen.filter(|seen| *seen > now.plus(EARLY_TOLERANCE)) {
            record.leaps.except(UtcMillis(seen.0 - 1), seen);
        }
        record.made = record.mark;
        record.until = self.leased_from(heard).plus(wait);
        record.settled = self.server.lease_now.plus(wait.min(SETTLING));
        record.lease = wait;
        record.lost = caller.seen.filter(|seen| *seen < record.mark);
        self.record = Some(record);
    }

    /// Rule 4: a record of another era waits one more lease, and may have lost decisions up to what was heard `earlier`.
    pub(crate) fn adopt_era(&mut self, caller: &Caller, earlier: UtcMillis, lease: Duration) {
        let server = self.server;
        let record = self.record_mut();
        if record.era == server.era {
            return;
        }
        let was_missing = record.is_put_back();
        record.era = server.era.clone();
        match server.memory {
            // The machine was restarted: nothing is forgotten, but the lease clock began anew.
            Memory::Durable if !was_missing => {
                record.settled = LeaseInstant::FREE;
                if !record.is_running() {
                    record.until = LeaseInstant::FREE;
                    return;
                }
                // Everyone else waits as long, however small their own leases.
                record.lease = caller.longest_lease(lease, record.lease);
                record.until = server.lease_now.plus(record.lease);
            }
            Memory::Durable | Memory::Forgetful => {
                self.wait_for_forgotten(caller, lease);
                // Of a record that its holder put back, everything else up to now may have been lost.
                let heard = if was_missing { server.now.max(caller.heard) } else { earlier };
                self.pass_unrecorded(maybe_decided(heard), caller);
            }
        }
    }

    /// Whether nothing can have been forgotten since `era`, the life of the store in which a lock was confirmed.
    pub(crate) fn remembers(&self, era: &Era) -> bool {
        self.server.memory == Memory::Durable || self.server.era == *era
    }

    /// Whether the record is of `era`, the life of the store in which a lock was confirmed, or of a store that forgets nothing.
    /// Without an era the replica knows that the store may have forgotten since.
    pub(crate) fn has_record_of(&self, era: &Era) -> bool {
        let record_era = self.record.as_ref().map(|record| &record.era);
        *era != Self::no_era() && (self.server.memory == Memory::Durable || record_era == Some(era))
    }

    /// Ticks above the mark that the caller has seen were forgotten, where the record was opened by one who had not
    /// seen them, and nothing was decided since.
    pub(crate) fn recall_lost(&mut self, caller: &Caller) {
        let record = self.record_mut();
        if record.is_as_made() {
            record.lost = record.lost.or(caller.seen.filter(|seen| *seen < record.mark));
        }
    }

    /// Rule 4 by everyone who remembers: whoever came first in this era may have known less of earlier ones.
    pub(crate) fn recall(&mut self, open: &Open) {
        self.recall_lost(&open.caller);
        let (now, heard, front) = (self.server.now, open.earlier, self.front);
        // Tokens up to what was heard may have been given out and forgotten; those of a clock that shows more by now are above them.
        let shown = heard.max(open.caller.heard);
        if shown > now {
            let record = self.record_mut();
            record.floor = record.floor.max(Fence(shown.0));
        }
        // What a clock that was ahead has shown is no news once it was opened again.
        let is_opened = heard > front && maybe_decided(heard) <= self.record_mut().returned_ahead;
        if heard == UtcMillis(0) || is_opened {
            return;
        }
        let (told, come) = (maybe_decided(heard), self.come(&open.caller));
        let record = self.record_mut();
        let is_ahead = record.mark > front;
        if record.mark < told || is_ahead && record.decided_up_to(front) < told.min(come) {
            self.wait_for_forgotten(&open.caller, open.lease);
        }
        self.pass_unrecorded(told, &open.caller);
        let record = self.record_mut();
        if record.until > LeaseInstant::FREE {
            record.lease = open.caller.longest_lease(open.lease, record.lease);
        }
    }

    /// Raises the floor of a record that is not settled above the fences that only a silent replica knows. Where no clock was
    /// ahead, the store's own is above them.
    pub(crate) fn raise_floor(&mut self, caller: &Caller) {
        let (now, is_unsettled) = (self.server.now, self.unsettled().is_some());
        let record = self.record_mut();
        let told = record.fence.max(caller.largest_fence);
        if is_unsettled && told.0 > now.0 + UNTOLD_FENCES {
            record.floor = record.floor.max(Fence(told.0 + UNTOLD_FENCES));
        }
    }

    /// The store may have forgotten a holder: the lock is not granted before the longest lease is over. The first seconds of that time
    /// are for replicas that report what the store forgot. Everyone else waits as long, however small their own leases.
    pub(crate) fn wait_for_forgotten(&mut self, caller: &Caller, lease: Duration) {
        let lease_now = self.server.lease_now;
        let record = self.record_mut();
        let wait = caller.longest_lease(lease, record.lease);
        record.until = record.until.max(lease_now.plus(wait));
        record.settled = lease_now.plus(wait.min(SETTLING));
        record.lease = wait;
    }

    /// From when on a new lock is leased: now, or the latest time that was heard before the store's clock was set back,
    /// which may be undone before anyone else sees it. A caller that has watched for long enough would have seen that.
    pub(crate) fn leased_from(&self, heard: UtcMillis) -> LeaseInstant {
        let Server { lease_now, memory, .. } = *self.server;
        match memory {
            Memory::Forgetful => lease_now.max(LeaseInstant(heard.0)),
            Memory::Durable => lease_now,
        }
    }

    /// For how long the caller has surely watched a steady clock.
    pub(crate) fn calm(&self, caller: &Caller) -> Duration {
        match self.server.memory {
            Memory::Forgetful if Protection::Calm.is_on() => caller.calm,
            Memory::Forgetful | Memory::Durable => Duration::MAX,
        }
    }

    /// For how long somebody may still tell what the store forgot of the job; `None` once it is settled, or where the
    /// store's clock was set back since.
    pub(crate) fn unsettled(&mut self) -> Option<Duration> {
        let lease_now = self.server.lease_now;
        let left = self.record_mut().settled.since(lease_now);
        (!left.is_zero() && left <= SETTLING).then_some(left)
    }

    /// Ends what the record calls running, with an entry: not before it began, which may have been a moment ahead.
    pub(crate) fn end_run(&mut self, verdict: Verdict, ended: UtcMillis) {
        let record = self.record_mut();
        let ended = ended.max(record.started.unwrap_or(ended));
        let mut entry = HistoryEntry::without_run(
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
        record.forgo_rerun_if_stopped();
        record.stop = None;
        record.stop_for = None;
        self.entries.push(entry);
    }

    /// The era of a record that must be opened anew by the next claim.
    pub(crate) fn no_era() -> Era {
        Era::default()
    }
}
