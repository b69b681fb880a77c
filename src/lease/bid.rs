//! What asks for the lock.

use std::time::Duration;

use crate::job::{Overlap, RunId, Tick, UtcMillis};

use super::{Caller, Claim, Manual, Record};

/// What a claim and a manual request have in common.
pub(super) struct Bid<'a> {
    pub(super) caller: &'a Caller,
    pub(super) run: RunId,
    pub(super) tick: Tick,
    /// The instant that a previous run may have covered: the tick's, or when somebody asked.
    pub(super) instant: UtcMillis,
    pub(super) lease: Duration,
    pub(super) overlap: Overlap,
    /// How long after its end a run that was cut short goes first; none: it is not rerun.
    pub(super) reruns_within: Option<Duration>,
}

impl<'a> Bid<'a> {
    pub(super) fn of_claim(claim: &'a Claim) -> Self {
        let Claim { ref caller, run, tick, lease, .. } = *claim;
        let (overlap, reruns_within) = (claim.overlap(), claim.reruns_within());
        Self { caller, run, tick, instant: tick.instant(), lease, overlap, reruns_within }
    }

    pub(super) fn of_manual(manual: &'a Manual) -> Self {
        let Manual { ref caller, run, tick, asked, lease, overlap, reruns_within, .. } = *manual;
        Self { caller, run, tick, instant: asked, lease, overlap, reruns_within }
    }

    /// The longest lease that anybody may hold or have held under this record.
    pub(super) fn longest_lease(&self, record: &Record) -> Duration {
        self.caller.longest_lease(self.lease, record.lease)
    }
}
