//! Builds a replica's requests about a job: from the schedule, the previous tick and the undecided ticks before the
//! claimed one; and what the replica remembers. Pure.

use std::time::Duration;

use crate::job::{CatchUp, Cause, JobSpec, OnInterrupt, Reason, Tick};
use crate::lease::{Ahead, Caller, Claim, Dropped, Gap, LiveRuns, Open, ScheduleHash};
use crate::store::clock::Known;
use crate::time::UtcMillis;

use super::action::Bid;
use super::claiming::Contest;

/// Undecided ticks before a claimed one are counted up to this many; above, the count is left out.
const MAX_COUNTED: u64 = 10_000;

/// For this long after a tick's instant, other replicas may still be about to claim it.
const JUST_COME: Duration = Duration::from_secs(1);

/// What a replica knows of a job, for its requests.
pub(crate) struct Proposal<'a> {
    pub(super) spec: &'a JobSpec,
    /// Every tick up to here is known to be decided.
    pub(super) decided: UtcMillis,
    /// Ticks up to here start nothing: they are decided, or older than the job's present schedule.
    pub(super) past: UtcMillis,
    /// Whether the job is scheduled.
    pub(super) is_scheduled: bool,
    /// Whether a heartbeat has listed a run of the job.
    pub(super) is_known: bool,
    /// Ticks that the former schedule left undecided.
    pub(super) dropped: Option<Dropped>,
    /// Why ticks before the claimed one were not decided; `None` if unknown.
    pub(super) delayed_by: Option<Reason>,
    /// What happens to a tick whose run was interrupted.
    pub(super) on_interrupt: OnInterrupt,
    /// When a claim last failed and certainly was not applied.
    pub(super) refused_at: UtcMillis,
    /// Ticks that are known to have run.
    pub(super) ahead: &'a [Ahead],
    /// How often ticks that had not come had been opened again when `ahead` was reported.
    pub(super) reopened_ahead_count: u64,
}

impl Contest {
    /// Returns what every request states of the job in its `Caller`.
    pub(crate) fn known(&self) -> Known {
        let told = |mark| Some(mark).filter(|mark| *mark > UtcMillis(0));
        let (mark, answered) = (told(self.decided), told(self.answered));
        Known { largest_lease: self.largest_lease(), mark, answered }
    }

    /// Returns the job as this replica knows it, for requests.
    pub(crate) fn proposal(&self) -> Proposal<'_> {
        let on_interrupt = self.on_interrupt();
        Proposal {
            spec: self.spec(),
            decided: self.decided,
            past: self.past(),
            is_scheduled: !self.is_retired(),
            is_known: self.is_known,
            dropped: self.dropped(),
            delayed_by: self.delayed_by,
            on_interrupt,
            refused_at: self.refused_at,
            ahead: self.known_to_have_run(),
            reopened_ahead_count: self.reopened_ahead_count(),
        }
    }
}

impl Proposal<'_> {
    /// Returns the claim for a bid. `now` is the time by which ticks are due, `wall` what the wall clock shows.
    pub(crate) fn claim(&self, bid: &Bid, caller: Caller, now: UtcMillis, wall: UtcMillis) -> Claim {
        let spec = self.spec;
        let prev = spec.schedule.at_or_before(UtcMillis(bid.tick.as_millis() - 1));
        // A failure that lies ahead is of a clock that was ahead, and the caller is calm only since that clock was set back.
        let refused_at = Some(self.refused_at).filter(|at| *at <= now).unwrap_or(UtcMillis(0));
        let caller = Caller { calm: caller.calm.min(now.since(refused_at)), ..caller };
        Claim {
            run: bid.request.run,
            tick: bid.tick,
            prev,
            gap: prev.and_then(|prev| self.gap(prev)),
            gap_reason: self.gap_reason(bid),
            schedule_hash: ScheduleHash::of(&spec.schedule),
            lease: spec.lease,
            start_deadline: spec.start_deadline_of(bid.tick),
            overlap: spec.overlap,
            on_interrupt: self.on_interrupt,
            catch_up: is_catch_up(spec, bid.tick, now),
            wall,
            unfit: bid.unfit,
            live_runs: LiveRuns::default(),
            caller,
        }
    }

    /// Returns the request to open the job's record. `since`: from when this replica has scheduled the job so, by the
    /// store's clock. `earlier`: the latest store time that it received in earlier eras. `wall`: what its wall clock
    /// shows.
    pub(crate) fn open(&self, caller: Caller, since: UtcMillis, earlier: UtcMillis, wall: UtcMillis) -> Open {
        let sched = self.is_scheduled.then(|| ScheduleHash::of(&self.spec.schedule));
        Open {
            schedule_hash: sched.unwrap_or_else(ScheduleHash::none),
            schedule_since: since,
            wall,
            ahead: self.ahead.to_vec(),
            reopened_ahead_count: self.reopened_ahead_count,
            lease: self.spec.lease,
            files_agree: false,
            is_known_job: self.is_known || self.decided > UtcMillis(0),
            latest_of_earlier_eras: earlier,
            dropped: self.dropped,
            pausing: None,
            caller,
        }
    }

    /// Returns the ticks that are undecided if the schedule ends at `now`, without those that have just come: other
    /// replicas may still claim them.
    pub(super) fn left_by(&self, now: UtcMillis) -> Option<Dropped> {
        if self.decided == UtcMillis(0) {
            // Nothing is known of the record.
            return None;
        }
        let newest = self.spec.schedule.at_or_before(now.minus(JUST_COME));
        let tick = newest.filter(|tick| tick.instant() > self.past)?;
        Some(Dropped { tick, after: self.past, count: self.gap(tick).map(|gap| gap.count) })
    }

    /// Returns why ticks before the claimed one were not decided.
    pub(super) fn gap_reason(&self, bid: &Bid) -> Reason {
        self.delayed_by.or(bid.unfit).unwrap_or(Reason::NoReplica)
    }

    /// Whether older ticks than this one are undecided.
    pub(super) fn skips_any(&self, tick: Tick) -> bool {
        self.spec.schedule.next_after(self.past).is_some_and(|oldest| oldest < tick)
    }

    /// Counts the undecided ticks up to `prev`. `None` if there are none, or too many to count.
    fn gap(&self, prev: Tick) -> Option<Gap> {
        let mut count = 0;
        let mut at = self.past;
        while let Some(tick) = self.spec.schedule.next_after(at).filter(|tick| *tick <= prev) {
            count += 1;
            if count > MAX_COUNTED {
                return None;
            }
            at = tick.instant();
        }
        let before = self.spec.schedule.at_or_before(self.past);
        (count > 0).then_some(Gap { after: self.past, before, count })
    }
}

/// Whether the claim is a catch-up: the newest tick, past its start deadline, of a job with `catch_up = "last"`.
fn is_catch_up(spec: &JobSpec, tick: Tick, now: UtcMillis) -> bool {
    let is_newest = || spec.schedule.at_or_before(now).is_none_or(|newest| newest <= tick);
    spec.catch_up == CatchUp::Last && now.since(tick.instant()) > spec.start_deadline_of(tick) && is_newest()
}

/// Returns the oldest tick after `decided` that may still start, or else the newest, which has to be decided all the
/// same. `None` if none has come.
pub(super) fn candidate(spec: &JobSpec, decided: UtcMillis, now: UtcMillis) -> Option<Tick> {
    let newest = spec.schedule.at_or_before(now).filter(|tick| tick.instant() > decided)?;
    let Some(limit) = spec.start_deadline else { return Some(newest) };
    let in_time = now.minus(limit + Duration::from_millis(1)).max(decided);
    Some(spec.schedule.next_after(in_time).map_or(newest, |oldest| oldest.min(newest)))
}

/// Returns the cause of a run whose tick was granted for the `tries`th time.
pub(super) fn cause_of(catch_up: bool, tries: u32) -> Cause {
    match (tries > 1, catch_up) {
        (true, _) => Cause::Rerun,
        (false, true) => Cause::CatchUp,
        (false, false) => Cause::Schedule,
    }
}
