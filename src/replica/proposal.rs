//! What a replica puts into its requests: the schedule's neighbours of a tick, counted and dated, and what the replica
//! remembers. Pure.

use crate::job::{CatchUp, JobSpec, Reason, Tick, UtcMillis};
use crate::lease::{Caller, Claim, Gap, Open, ScheduleHash};

use super::action::Bid;

/// Ticks between the mark and a claim are counted up to this many; above, the count is left out.
const MAX_COUNTED: u64 = 100_000;

/// A job as a replica knows it.
pub(super) struct Proposal<'a> {
    pub(super) spec: &'a JobSpec,
    /// Every tick up to here is known to be decided.
    pub(super) decided: UtcMillis,
    /// Why ticks before the claimed one were not decided, if that is known.
    pub(super) delayed_by: Option<Reason>,
}

impl Proposal<'_> {
    /// The claim for a bid, made at `now`.
    pub(super) fn claim(&self, bid: &Bid, caller: Caller, now: UtcMillis) -> Claim {
        let spec = self.spec;
        let prev = spec.schedule.at_or_before(UtcMillis(bid.tick.as_millis() - 1));
        Claim {
            run: bid.run,
            tick: bid.tick,
            prev,
            gap: prev.and_then(|prev| self.gap(prev)),
            gap_reason: self.delayed_by.unwrap_or(Reason::NoReplica),
            sched: schedule_hash(spec),
            lease: spec.lease,
            start_deadline: spec.start_deadline_of(bid.tick),
            overlap: spec.overlap,
            on_interrupt: spec.on_interrupt,
            catch_up: is_catch_up(spec, bid.tick, now),
            wall: now,
            caller,
        }
    }

    /// The request to open the job's record.
    pub(super) fn open(&self, caller: Caller) -> Open {
        Open {
            sched: schedule_hash(self.spec),
            lease: self.spec.lease,
            known: self.decided > UtcMillis(0),
            caller,
        }
    }

    /// How many ticks lie above the known mark, up to `prev`.
    fn gap(&self, prev: Tick) -> Option<Gap> {
        let mut count = 0;
        let mut at = self.decided;
        while let Some(tick) = self.spec.schedule.next_after(at).filter(|tick| *tick <= prev) {
            count += 1;
            if count > MAX_COUNTED {
                return None;
            }
            at = tick.instant();
        }
        (count > 0).then_some(Gap { mark: self.decided, count })
    }
}

/// Whether the tick is too late for anything but catching up, and that is wanted.
pub(super) fn is_catch_up(spec: &JobSpec, tick: Tick, now: UtcMillis) -> bool {
    spec.catch_up == CatchUp::Last && now.since(tick.instant()) > spec.start_deadline_of(tick)
}

/// Hash of the job's schedule and zone.
pub(super) fn schedule_hash(spec: &JobSpec) -> ScheduleHash {
    ScheduleHash(spec.schedule.fingerprint().to_owned())
}
