//! A lock that was granted, and what is to be run under it.

use crate::job::{Cause, Outcome};
use crate::lease::{BootInstant, Deadline, Era, Holding};
use crate::run::{Ended, Launch};

use super::attempts::Retries;
use super::due::Due;
use super::event::RunRef;

/// A lock that was just granted.
pub(super) struct Grant {
    /// The first attempt.
    pub(super) launch: Launch,
    pub(super) retries: Retries,
    pub(super) holding: Holding,
    pub(super) deadline: Deadline,
    /// When the claim was sent.
    pub(super) sent: BootInstant,
    /// What the first attempt waits for, if it was granted ahead of its instant.
    pub(super) due: Due,
    /// The life of the store in which it was granted.
    pub(super) era: Era,
    /// Whether it waited for the end of another run.
    pub(super) waited: bool,
}

impl Grant {
    /// The run, as events name it.
    pub(super) fn reference(&self) -> RunRef {
        RunRef::of(&self.launch.identity.job, &self.holding)
    }

    /// Whether the tick may run once more, after the run ended so.
    pub(super) fn has_rerun_left(&self, ended: &Ended) -> bool {
        let is_cut_short = ended.was_tried && ended.verdict.outcome == Outcome::Interrupted;
        is_cut_short && self.holding.may_run_again() || !ended.was_tried && self.holding.cause == Cause::Rerun
    }
}
