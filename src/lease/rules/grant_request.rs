//! The request for a lock, as the rules see it.

use std::time::Duration;

use crate::job::{Overlap, RunId, Tick};
use crate::lease::{Caller, Claim, Manual, Protection, Record};
use crate::time::UtcMillis;

/// The part that a claim and a manual request have in common.
pub(crate) struct GrantRequest<'a> {
    pub(super) caller: &'a Caller,
    pub(super) run: RunId,
    pub(super) tick: Tick,
    /// The instant that a previous run may have covered: the tick's, or when a manual run was requested.
    pub(super) instant: UtcMillis,
    /// Whether the tick's instant has not come yet. Such a request stops no run, and a conflict now does not decide the
    /// tick: at the instant it may be gone.
    pub(super) is_ahead: bool,
    pub(super) lease: Duration,
    pub(super) overlap: Overlap,
    /// For how long after its end an interrupted run is rerun first; `None` if it is not rerun.
    pub(super) rerun_deadline: Option<Duration>,
}

impl<'a> GrantRequest<'a> {
    pub(super) fn of_claim(claim: &'a Claim, now: UtcMillis) -> Self {
        let Claim { ref caller, run, tick, lease, .. } = *claim;
        let (overlap, rerun_deadline) = (claim.overlap(), claim.rerun_deadline());
        let instant = tick.instant();
        let is_ahead = Protection::Early.is_on() && instant > now;
        Self { caller, run, tick, instant, is_ahead, lease, overlap, rerun_deadline }
    }

    pub(super) fn of_manual(manual: &'a Manual) -> Self {
        let Manual { ref caller, run, tick, asked, lease, overlap, rerun_deadline, .. } = *manual;
        Self { caller, run, tick, instant: asked, is_ahead: false, lease, overlap, rerun_deadline }
    }

    /// Returns the longest lease that any caller may hold, or may have held, under this record.
    pub(super) fn longest_lease(&self, record: &Record) -> Duration {
        self.caller.longest_lease(self.lease, record.lease)
    }
}
