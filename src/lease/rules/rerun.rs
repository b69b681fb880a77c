//! Running a tick once more after its run was cut short by its replica: once, before newer ticks, and not however late.

use std::time::Duration;

use crate::job::{Cause, NodeName, OnInterrupt, Outcome, Overlap, Tick};
use crate::lease::{Claim, Lease, LeaseInstant, Record, SCHEMA};
use crate::time::UtcMillis;

use super::grant_request::GrantRequest;

/// A tick is granted once, and once more after an interruption.
pub(crate) const TRIES: u32 = 2;

/// A tick that may run once more: its run was cut short, or goes on and may still be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rerun {
    /// The tick.
    pub tick: Tick,
    /// The replica that was granted its run.
    pub by: Option<NodeName>,
    /// Whether that run goes on, as far as the store knows.
    pub goes_on: bool,
    /// When the lock frees itself at the latest, if nobody renews it.
    pub frees_in: Duration,
}

impl Record {
    /// The tick that may run once more.
    pub(crate) fn rerun(&self, lease_now: LeaseInstant) -> Option<Rerun> {
        let rerun = |tick| Rerun {
            tick,
            by: self.owner.clone(),
            goes_on: self.is_running(),
            frees_in: self.until.since(lease_now),
        };
        self.tick_left().filter(|_| self.schema <= SCHEMA).map(rerun)
    }

    /// The tick whose run was cut short, and that nobody has rerun yet.
    pub fn cut_short(&self) -> Option<Rerun> {
        // When its lock is free, only the store can tell; who asks too early is told.
        self.rerun(self.until).filter(|rerun| !rerun.goes_on)
    }

    fn tick_left(&self) -> Option<Tick> {
        let is_open = self.is_running() || self.last.is_some_and(|last| last.outcome == Outcome::Interrupted);
        let may_run_again = self.cause != Some(Cause::Manual) && self.tries < TRIES;
        // Of another schedule nothing is rerun.
        self.tick.filter(|tick| is_open && may_run_again && tick.instant() > self.since)
    }

    /// For how long the tick that was cut short may still be rerun: counted from the last sign of life of its run, as long
    /// as a tick may be late, and a lease more, for that passes before a lost run is known to be one.
    fn rerun_time_left(&self, now: UtcMillis, start_deadline: Duration) -> Option<Duration> {
        let ended = self.ended.filter(|_| !self.is_running() && self.tick_left().is_some())?;
        let left = self.lease.saturating_add(start_deadline).saturating_sub(now.since(ended));
        Some(left).filter(|left| !left.is_zero())
    }

    /// Whoever wants the run stopped does not want it run once more.
    pub(crate) fn forgo_rerun_if_stopped(&mut self) {
        if self.stop.is_some() && self.stop == self.run {
            self.forgo_rerun();
        }
    }

    /// The tick is not rerun any more.
    pub(crate) fn forgo_rerun(&mut self) {
        self.tries = self.tries.max(TRIES);
    }

    /// Whether the claim is for the first rerun of a tick whose run was cut short.
    pub(crate) fn is_rerun(&self, claim: &Claim) -> bool {
        let asks = claim.on_interrupt == OnInterrupt::Rerun && claim.unfit.is_none();
        asks && !self.is_running() && self.tick_left() == Some(claim.tick)
    }

    /// Whether it is too late for the rerun that is claimed, or the job is paused, or its schedule was edited.
    pub(crate) fn refuses_rerun(&self, claim: &Claim, now: UtcMillis) -> bool {
        let is_paused = self.paused.is_some_and(|until| now < until);
        is_paused || !self.is_under(&claim.sched) || self.rerun_time_left(now, claim.start_deadline).is_none()
    }

    /// For how long the free lock is kept for a rerun, which goes first; none where a newer tick takes its place.
    pub(crate) fn kept_for_rerun(&self, request: &GrantRequest<'_>, now: UtcMillis) -> Option<Duration> {
        let within = request.reruns_within.filter(|_| request.overlap != Overlap::Replace)?;
        self.rerun_time_left(now, within)
    }
}

impl Lease {
    /// Whether its tick may run once more, should the run be cut short.
    pub fn may_run_again(&self) -> bool {
        self.cause != Cause::Manual && self.tries < TRIES
    }
}
