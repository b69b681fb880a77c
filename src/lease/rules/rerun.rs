//! Running a tick once more after its run was interrupted: only once, before newer ticks, and within a time limit.

use std::time::Duration;

use crate::job::{Cause, NodeName, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick};
use crate::lease::{Claim, Lease, LeaseInstant, Protection, Record, SCHEMA};
use crate::time::UtcMillis;

use super::grant_request::GrantRequest;

/// A tick is granted once, and once more after an interruption.
pub(crate) const TRIES: u32 = 2;

/// A tick that may run once more: its run was interrupted, or is running and may still be interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rerun {
    /// The tick.
    pub tick: Tick,
    /// The replica that was granted its run.
    pub by: Option<NodeName>,
    /// Whether that run is running, as far as the store knows.
    pub goes_on: bool,
    /// The time until the lock is free at the latest, if it is not renewed.
    pub frees_in: Duration,
}

impl Record {
    /// Returns the tick that may run once more.
    pub(crate) fn rerun(&self, lease_now: LeaseInstant) -> Option<Rerun> {
        let rerun = |tick| Rerun {
            tick,
            by: self.owner.clone(),
            goes_on: self.is_running(),
            frees_in: self.locked_until.since(lease_now),
        };
        self.tick_left().filter(|_| self.schema <= SCHEMA).map(rerun)
    }

    /// Returns the tick whose run was interrupted, if it was not rerun yet.
    pub fn cut_short(&self) -> Option<Rerun> {
        // `frees_in` is zero here: only the store knows when the lock is free, and tells a caller that claims too early.
        self.rerun(self.locked_until).filter(|rerun| !rerun.goes_on)
    }

    fn tick_left(&self) -> Option<Tick> {
        let is_open =
            self.is_running() || self.verdict.is_some_and(|last| last.outcome == Outcome::Interrupted);
        let may_run_again = self.cause != Some(Cause::Manual) && self.tries < TRIES;
        // No tick of another schedule is rerun.
        self.tick.filter(|tick| is_open && may_run_again && tick.instant() > self.schedule_since)
    }

    /// Returns for how long the interrupted tick may still be rerun. The time counts from the last sign of life of its run:
    /// as long as a tick may be late, and one lease more, because that passes before a lost run is known to be lost.
    fn rerun_time_left(&self, now: UtcMillis, start_deadline: Duration) -> Option<Duration> {
        let ended = self.ended.filter(|_| !self.is_running() && self.tick_left().is_some())?;
        let left = self.lease.saturating_add(start_deadline).saturating_sub(now.since(ended));
        Some(left).filter(|left| !left.is_zero())
    }

    /// Excludes a rerun if a stop of the run was requested: a run that shall stop shall not run once more.
    pub(crate) fn forgo_rerun_if_stopped(&mut self) {
        if self.stop_run.is_some() && self.stop_run == self.run {
            self.forgo_rerun();
        }
    }

    /// Excludes a rerun of the tick.
    pub(crate) fn forgo_rerun(&mut self) {
        self.tries = self.tries.max(TRIES);
    }

    /// Whether the claim is for the first rerun of a tick whose run was interrupted.
    pub(crate) fn is_rerun(&self, claim: &Claim) -> bool {
        let asks = claim.on_interrupt == OnInterrupt::Rerun && claim.unfit.is_none();
        asks && !self.is_running() && self.tick_left() == Some(claim.tick)
    }

    /// Whether the claimed rerun is too late, or the job is paused, or its schedule was edited, or the run ended by itself.
    pub(crate) fn refuses_rerun(&self, claim: &Claim, now: UtcMillis) -> bool {
        let is_paused = self.paused.is_some_and(|until| now < until);
        is_paused
            || !self.is_under(&claim.schedule_hash)
            || self.rerun_time_left(now, claim.start_deadline).is_none()
            || self.is_lost_and_in(&claim.live_runs.ended, now)
    }

    /// Whether the run was ended because its lock was over, and is one of these, which live replicas list. Where its own replica has
    /// just recorded it as lost, after a restart, the list is older than the record.
    pub(crate) fn is_lost_and_in(&self, live: &[RunId], now: UtcMillis) -> bool {
        let is_lost = self.verdict.is_some_and(|last| last.reason == Some(Reason::NodeLost));
        let has_just_ended = self.ended.is_some_and(|ended| ended <= now && now.since(ended) < self.lease);
        let is_listed = self.run.is_some_and(|run| live.contains(&run));
        Protection::LiveRun.is_on() && is_lost && !has_just_ended && is_listed
    }

    /// Returns for how long the free lock is reserved for a rerun, which goes first; `None` if there is none, or a newer
    /// tick replaces it.
    pub(crate) fn kept_for_rerun(&self, request: &GrantRequest<'_>, now: UtcMillis) -> Option<Duration> {
        let within = request.rerun_deadline.filter(|_| request.overlap != Overlap::Replace)?;
        self.rerun_time_left(now, within)
    }
}

impl Lease {
    /// Whether the tick may run once more if this run is interrupted.
    pub fn may_run_again(&self) -> bool {
        self.cause != Cause::Manual && self.tries < TRIES
    }
}
