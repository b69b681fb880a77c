//! A decision that is being made: the record as it will be, the entries so far, and the rules that several requests
//! share.

use std::time::Duration;

use crate::job::{Cause, Fence, RunId, Tick, Verdict};
use crate::lease::{
    Answer, Caller, Era, HistoryEntry, Leap, LeaseInstant, Memory, Open, Phase, Protection, Record, Reply,
    Server,
};
use crate::time::UtcMillis;

use super::early::EARLY_TOLERANCE;

/// If a request is held up for longer than this, or a clock is stepped by more, the answer is `unsynced`.
pub(crate) const SYNC_TOLERANCE: Duration = Duration::from_secs(1);

/// Within this time every replica that reaches the store has learned of a new era and has reported what it remembers.
pub(crate) const SETTLING: Duration = Duration::from_secs(5);

/// No replica is granted this many fences between two heartbeats. Fences follow the clock in milliseconds, so this is
/// ten seconds.
const UNREPORTED_FENCES: i64 = 10_000;

/// What a store has to do in one atomic step: write `record`, append `entries`, answer `reply`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The record to store; `None` if there was none and none is created.
    pub record: Option<Record>,
    /// The entries to append, oldest first.
    pub entries: Vec<HistoryEntry>,
    /// Set if the first entry may continue the newest entry of the history: the tick right before the ticks of the first entry.
    /// If the newest entry ends with that tick and the two can be joined, one entry replaces both.
    pub follows: Option<Tick>,
    /// Leaps whose entries without a run are withdrawn, because a clock that was ahead made them.
    pub retracted: Vec<Leap>,
    /// The run whose end is reported for the first time. A run of any other entry may have its entry already, because
    /// the history is stored apart from the record, and the store may have forgotten the end: it gets no second
    /// entry.
    pub ends: Option<RunId>,
    /// The answer to the request.
    pub reply: Reply,
}

impl Decision {
    /// Returns whether the newest entry so far is replaced by the first of the new entries, and the entries to append.
    pub fn entries_after(&self, newest: Option<&HistoryEntry>) -> (bool, Vec<HistoryEntry>) {
        let mut entries = self.entries.clone();
        let before = newest.filter(|newest| self.follows == Some(newest.tick));
        let joined = before.zip(entries.first()).and_then(|(before, first)| before.joined(first));
        let gives_way = joined.is_some();
        joined.into_iter().for_each(|joined| entries[0] = joined);
        (gives_way, entries)
    }

    /// Whether the entry is withdrawn.
    pub fn retracts(&self, entry: &HistoryEntry) -> bool {
        let after = entry.begins_after();
        let is_in = |leap: &Leap| leap.after <= after && entry.tick.instant() <= leap.to;
        entry.run.is_none() && self.retracted.iter().any(is_in)
    }

    /// Whether the history may already have an entry of the same run.
    pub fn may_repeat(&self, entry: &HistoryEntry) -> bool {
        entry.run.is_some() && entry.run != self.ends
    }

    /// Whether the history already has an entry of the same run; or one that says why its tick did not run, if the holder has
    /// reported nothing of the run.
    pub fn repeats(&self, entry: &HistoryEntry, history: &[HistoryEntry]) -> bool {
        let is_told = |other: &HistoryEntry| other.run == entry.run || other.denies(entry);
        self.may_repeat(entry) && history.iter().any(is_told)
    }

    /// Applies the decision to a history: withdraws, joins and appends entries.
    pub fn append_to(&self, history: &mut Vec<HistoryEntry>) {
        history.retain(|entry| !self.retracts(entry));
        let (gives_way, mut entries) = self.entries_after(history.last());
        history.truncate(history.len() - usize::from(gives_way));
        entries.retain(|entry| !self.repeats(entry, history));
        history.extend(entries);
    }
}

/// Returns the mark for a store that forgot, if its time was seen to be `heard`: any tick up to that mark may be decided.
pub(crate) fn maybe_decided(heard: UtcMillis) -> UtcMillis {
    if Protection::MarkReset.is_on() { heard.plus(EARLY_TOLERANCE) } else { UtcMillis(0) }
}

/// A decision that is being made.
pub(crate) struct Transition<'a> {
    pub(crate) record: Option<Record>,
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) follows: Option<Tick>,
    pub(crate) retracted: Vec<Leap>,
    pub(crate) ends: Option<RunId>,
    /// No correct clock shows a later time: the later of the store's clock and the caller's, plus the tolerance. `i64::MAX` for a
    /// request that does not need it.
    pub(crate) latest_correct_time: UtcMillis,
    pub(crate) server: &'a Server,
}

impl<'a> Transition<'a> {
    pub(crate) fn of(record: Option<&Record>, server: &'a Server) -> Self {
        let (record, latest_correct_time) = (record.cloned(), UtcMillis(i64::MAX));
        let (entries, retracted) = (Vec::new(), Vec::new());
        Self { record, entries, follows: None, retracted, ends: None, latest_correct_time, server }
    }

    pub(crate) fn answer(mut self, answer: Answer) -> Decision {
        if let Some(record) = self.record.as_mut() {
            self.entries.iter().for_each(|entry| record.count_entry(entry, self.server.now));
        }
        let mark = self.record.as_ref().map(|record| record.decided_up_to(self.latest_correct_time));
        let lease = self.record.as_ref().map(|record| record.lease);
        let rerun = self.record.as_ref().and_then(|record| record.rerun(self.server.lease_now));
        let reply = Reply { now: self.server.now, mark, lease, rerun, lag: Duration::ZERO, answer };
        let Self { record, entries, follows, retracted, ends, .. } = self;
        Decision { record, entries, follows, retracted, ends, reply }
    }

    pub(crate) fn new_era(self) -> Decision {
        let era = self.server.era.clone();
        self.answer(Answer::NewEra(era))
    }

    /// Returns the record, which the caller knows to exist.
    pub(crate) fn record_mut(&mut self) -> &mut Record {
        self.record.as_mut().expect("the caller has made sure that there is a record")
    }

    /// Rule 1: whether the request arrived at another time than expected.
    pub(crate) fn is_unsynced(&self, expect: UtcMillis) -> bool {
        Protection::Expect.is_on() && self.server.memory == Memory::Forgetful && self.is_off(expect)
    }

    /// Whether the store's clock shows another time than the caller estimates.
    pub(crate) fn is_off(&self, expect: UtcMillis) -> bool {
        let now = self.server.now;
        now.since(expect).max(expect.since(now)) > SYNC_TOLERANCE
    }

    /// Creates a missing record. Ticks up to now, or up to `heard`, are not granted, and no tick before `wait` has passed.
    /// If the job is not `known`, none of its ticks was ever decided.
    pub(crate) fn create(&mut self, caller: &Caller, heard: UtcMillis, wait: Duration, known: bool) {
        let mut record = Record::empty(self.server.era.clone());
        let (now, leapt) = (self.server.now, if known { caller.leapt_from } else { Some(UtcMillis(0)) });
        record.pass_unrecorded(maybe_decided(now.max(heard)), now, leapt);
        if let Some(seen) = caller.known_mark.filter(|seen| *seen > now.plus(EARLY_TOLERANCE)) {
            record.leaps.except(UtcMillis(seen.0 - 1), seen);
        }
        record.created_mark = record.mark;
        record.locked_until = self.leased_from(heard).plus(wait);
        record.settles_at = self.server.lease_now.plus(wait.min(SETTLING));
        record.lease = wait;
        record.lost_after = caller.known_mark.filter(|seen| *seen < record.mark);
        self.record = Some(record);
    }

    /// Rule 4: a record of another era waits one more longest lease, and may have lost decisions up to `earlier`, a store
    /// time that was seen.
    pub(crate) fn adopt_era(&mut self, caller: &Caller, earlier: UtcMillis, lease: Duration) {
        let server = self.server;
        let record = self.record_mut();
        if record.era == server.era {
            return;
        }
        let was_missing = record.is_put_back();
        // When the wait began: now, or when its holder put it back. A release that did not keep that time left 0.
        let is_timed = was_missing && record.settles_at != LeaseInstant::FREE;
        let since = if is_timed { record.settles_at.minus(SETTLING) } else { server.lease_now };
        record.era = server.era.clone();
        match server.memory {
            // The machine was restarted: nothing is forgotten, but the lease clock started again.
            Memory::Durable if !was_missing => {
                record.settles_at = LeaseInstant::FREE;
                if !record.is_running() {
                    record.locked_until = LeaseInstant::FREE;
                    return;
                }
                // All other callers wait as long, however small their own leases.
                record.lease = caller.longest_lease(lease, record.lease);
                record.locked_until = server.lease_now.plus(record.lease);
            }
            Memory::Durable | Memory::Forgetful => {
                self.wait_for_forgotten(caller, lease, since.min(server.lease_now));
                // A record that its holder put back may have lost everything else up to now.
                let heard = if was_missing { server.now.max(caller.latest_store_time) } else { earlier };
                self.pass_unrecorded(maybe_decided(heard), caller);
            }
        }
    }

    /// Whether nothing can have been forgotten since `era`, the era in which a lock was confirmed.
    pub(crate) fn remembers(&self, era: &Era) -> bool {
        self.server.memory == Memory::Durable || self.server.era == *era
    }

    /// Whether the store may have forgotten something after the grant that the record shows: since then, or later, the record
    /// has waited for reports of it. The grant may have come a moment before the start.
    pub(crate) fn may_have_lost_since_grant(&self) -> bool {
        self.record.as_ref().is_none_or(|record| {
            let granted = record.started.map(|started| started.minus(EARLY_TOLERANCE));
            granted.is_some_and(|granted| self.wait_began(record) >= Some(granted))
        })
    }

    /// The same since the last sign of life of the run that the record shows: its holder has not proved since that it still
    /// holds the lock.
    pub(crate) fn may_have_lost_since_last_sign(&self) -> bool {
        self.record.as_ref().is_none_or(|record| {
            let alive = record.ended.or(record.started);
            alive.is_some() && self.wait_began(record) > alive
        })
    }

    /// Returns when the record began to wait for reports of what the store forgot; `None` of a store that forgets nothing.
    fn wait_began(&self, record: &Record) -> Option<UtcMillis> {
        (self.server.memory == Memory::Forgetful).then(|| UtcMillis(record.settles_at.minus(SETTLING).0))
    }

    /// Whether the record is of `era`, in which a lock was confirmed, or of a store that forgets nothing. False for an
    /// empty era: then the replica knows that the store may have forgotten since.
    pub(crate) fn has_record_of(&self, era: &Era) -> bool {
        let record_era = self.record.as_ref().map(|record| &record.era);
        *era != Self::no_era() && (self.server.memory == Memory::Durable || record_era == Some(era))
    }

    /// Marks as forgotten the ticks above the newest mark that the caller has seen, if the record was opened by a replica
    /// that had not seen them, and nothing was decided since.
    pub(crate) fn merge_lost(&mut self, caller: &Caller) {
        let record = self.record_mut();
        if record.is_as_created() {
            record.lost_after = record.lost_after.or(caller.known_mark.filter(|seen| *seen < record.mark));
        }
    }

    /// Applies rule 4 again for each replica that opens the record: the replica that came first in this era may have known
    /// less of earlier ones.
    pub(crate) fn merge_memory(&mut self, open: &Open) {
        self.merge_lost(&open.caller);
        let (now, heard, front) = (self.server.now, open.latest_of_earlier_eras, self.latest_correct_time);
        // Fences up to the time that was seen may have been granted and forgotten. If the clock shows more by now, new
        // fences are above them anyway.
        let shown = heard.max(open.caller.latest_store_time);
        if shown > now {
            let record = self.record_mut();
            record.floor = record.floor.max(Fence(shown.0));
        }
        // A time that only a wrong clock has shown does not count any more once the ticks up to it were opened again.
        let is_opened = heard > front && maybe_decided(heard) <= self.record_mut().reopened_ahead;
        if heard == UtcMillis(0) || is_opened {
            return;
        }
        let (told, come) = (maybe_decided(heard), self.come(&open.caller));
        let record = self.record_mut();
        let is_ahead = record.mark > front;
        if record.mark < told || is_ahead && record.decided_up_to(front) < told.min(come) {
            self.wait_for_forgotten(&open.caller, open.lease, self.server.lease_now);
        }
        self.pass_unrecorded(told, &open.caller);
        self.merge_lease(open);
    }

    /// If the record is not settled, raises its floor above the fences that only a silent replica knows. If no clock was ahead,
    /// the store's own time is above them already.
    pub(crate) fn raise_floor(&mut self, caller: &Caller) {
        let (now, is_unsettled) = (self.server.now, self.unsettled().is_some());
        let record = self.record_mut();
        let told = record.fence.max(caller.largest_fence);
        if is_unsettled && told.0 > now.0 + UNREPORTED_FENCES {
            record.floor = record.floor.max(Fence(told.0 + UNREPORTED_FENCES));
        }
    }

    /// Closes the lock until the longest lease since the loss is over, because the store may have forgotten a holder. The next seconds
    /// are for replicas that report what the store forgot. All other callers wait as long, however small their own leases.
    pub(crate) fn wait_for_forgotten(&mut self, caller: &Caller, lease: Duration, since: LeaseInstant) {
        let lease_now = self.server.lease_now;
        let record = self.record_mut();
        let wait = caller.longest_lease(lease, record.lease);
        record.locked_until = record.locked_until.max(since.plus(wait));
        record.settles_at = lease_now.plus(wait.min(SETTLING));
        record.lease = wait;
    }

    /// Returns the time from which a new lock is leased: now, or the latest time that was seen before the store's clock was set
    /// back. That step may be undone before any other caller sees it. For a caller that is calm for the longest lease, `grant`
    /// passes 0: it would have seen that step.
    pub(crate) fn leased_from(&self, heard: UtcMillis) -> LeaseInstant {
        let Server { lease_now, memory, .. } = *self.server;
        match memory {
            Memory::Forgetful => lease_now.max(LeaseInstant(heard.0)),
            Memory::Durable => lease_now,
        }
    }

    /// Returns for how long the caller has certainly watched a steady clock.
    pub(crate) fn calm(&self, caller: &Caller) -> Duration {
        match self.server.memory {
            Memory::Forgetful if Protection::Calm.is_on() => caller.calm,
            Memory::Forgetful | Memory::Durable => Duration::MAX,
        }
    }

    /// Returns for how long replicas may still report what the store forgot of the job; `None` once the record is settled,
    /// or if the store's clock was set back since.
    pub(crate) fn unsettled(&mut self) -> Option<Duration> {
        let lease_now = self.server.lease_now;
        let left = self.record_mut().settles_at.since(lease_now);
        (Protection::Settling.is_on() && !left.is_zero() && left <= SETTLING).then_some(left)
    }

    /// Ends the run that the record calls running, with an entry. The end is not before the start, which may lie a moment ahead.
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
        record.locked_until = LeaseInstant::FREE;
        record.ended = Some(ended);
        record.verdict = Some(verdict);
        record.forgo_rerun_if_stopped();
        record.clear_stop();
        self.entries.push(entry);
    }

    /// Returns the era of a record that the next claim must open anew.
    pub(crate) fn no_era() -> Era {
        Era::default()
    }
}
