//! Requests as they come every day, or nearly so: what is decided without the rules, and what must not be.

use std::time::Duration;

use proptest::prelude::RngExt;
use solocron::job::{RunId, Tick};
use solocron::lease::{Caller, Claim, Finish, Lease, LeaseInstant, LiveRuns, Phase, Record, SCHEMA};
use solocron::time::UtcMillis;

use super::{History, before};

impl History {
    /// Makes it the record of a job at rest: one that has run, or never did.
    pub(super) fn lay_to_rest(&mut self, record: &mut Record, now: UtcMillis) {
        record.phase = Phase::Idle;
        (record.lost_after, record.paused, record.stop_run, record.stop_reason) = (None, None, None, None);
        (record.schema, record.era) = (SCHEMA, self.era.clone());
        let waited = self.span();
        record.locked_until =
            if self.one_in(2) { LeaseInstant::FREE } else { LeaseInstant(now.minus(waited).0) };
        if self.one_in(2) {
            (record.run, record.tick, record.cause, record.verdict) = (None, None, None, None);
            (record.started, record.ended) = (None, None);
        }
    }

    /// The claim of the next tick, as an honest replica makes it, but for one thing at the most.
    pub(super) fn next_claim(&mut self, record: Option<&Record>, now: UtcMillis) -> Claim {
        let mark = record.map_or(now, |record| record.mark);
        let other = self.claim(record, now);
        let caller = Caller {
            expect: now,
            era: self.era.clone(),
            latest_store_time: UtcMillis(0),
            calm: Duration::MAX,
            answered_mark: None,
            ..other.caller.clone()
        };
        let next = Claim {
            caller: Caller { largest_lease: Duration::ZERO, known_mark: None, ..caller },
            run: RunId::new(),
            tick: Tick(now.max(mark.plus(Duration::from_millis(1)))),
            prev: None,
            gap: None,
            schedule_hash: record.map_or(other.schedule_hash.clone(), |record| record.schedule_hash.clone()),
            start_deadline: Duration::from_secs(300),
            catch_up: false,
            wall: now,
            unfit: None,
            live_runs: LiveRuns::default(),
            ..other.clone()
        };
        let prev = other.prev.map(|prev| before(next.tick, prev.instant()));
        let ended = record.and_then(|record| record.ended).unwrap_or(now);
        let before_end = Tick(ended.minus(self.span()));
        let (calm, largest_lease) = (self.length(), self.length());
        match self.rng.random_range(0..30) {
            0 => Claim { run: other.run, ..next },
            1 => Claim { tick: other.tick, ..next },
            2 => Claim { prev, gap: other.gap, ..next },
            3 => Claim { schedule_hash: other.schedule_hash, ..next },
            4 => Claim { start_deadline: other.start_deadline, tick: other.tick, ..next },
            5 => Claim { catch_up: true, ..next },
            6 => Claim { wall: other.wall, start_deadline: other.start_deadline, tick: other.tick, ..next },
            7 => Claim { unfit: other.unfit, ..next },
            8 => Claim { caller: Caller { expect: other.caller.expect, ..next.caller }, ..next },
            9 => Claim { caller: Caller { era: other.caller.era, ..next.caller }, ..next },
            10 => Claim { caller: Caller { calm, ..next.caller }, ..next },
            11 => Claim {
                caller: Caller { latest_store_time: other.caller.latest_store_time, ..next.caller },
                ..next
            },
            12..16 => {
                Claim { caller: Caller { known_mark: other.caller.known_mark, ..next.caller }, prev, ..next }
            }
            16 | 17 => Claim { caller: Caller { calm, largest_lease, ..next.caller }, ..next },
            18 | 19 => Claim { tick: before_end, ..next },
            _ => next,
        }
    }

    /// The end of the run that has the lock, as its holder tells of it, but for one thing at the most.
    pub(super) fn next_finish(&mut self, record: Option<&Record>, now: UtcMillis) -> Finish {
        let other = self.finish(record, now);
        let Some(record) = record else { return other };
        let lease = Lease {
            run: record.run.unwrap_or(other.lease.run),
            fence: record.fence,
            tick: record.tick.unwrap_or(other.lease.tick),
            length: record.lease,
            tries: record.tries,
            schedule_hash: record.schedule_hash.clone(),
            mark: record.mark,
            ..other.lease.clone()
        };
        let lease = Lease { prev: lease.prev.map(|prev| before(lease.tick, prev.instant())), ..lease };
        // The record may be of another life than the server's.
        let era = if self.one_in(4) { self.era.clone() } else { record.era.clone() };
        // The run may have ended before what else the record tells.
        let ended = if self.one_in(3) { other.ended } else { now };
        match self.rng.random_range(0..6) {
            0 => Finish { lease: other.lease.clone(), era, ..other },
            1 => Finish { lease: Lease { fence: other.lease.fence, ..lease }, ..other },
            2 => Finish { lease: Lease { run: other.lease.run, ..lease }, ..other },
            _ => Finish { lease, era, ended, ..other },
        }
    }
}
