//! What the record of a job says, as far as metrics need it.

use crate::job::Tick;
use crate::time::UtcMillis;

/// What was read of a job's record, which is under the schedule of the replica's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFigures {
    /// The oldest tick that is not decided. It may not have come yet. `None` if no tick is left.
    pub undecided: Option<Tick>,
    /// The newest tick whose run succeeded.
    pub last_success_tick: Option<Tick>,
    /// When the newest successful run ended.
    pub last_success_end: Option<UtcMillis>,
    /// How many ticks in a row did not succeed.
    pub failures_in_row: u64,
    /// When the first of these ended, or was decided.
    pub failing_since: Option<UtcMillis>,
    /// When the job's schedule replaced another; 0 if it is its first.
    pub schedule_since: UtcMillis,
    /// Until when the job is paused, or was.
    pub paused_until: Option<UtcMillis>,
    /// When it was last paused or resumed.
    pub paused_at: Option<UtcMillis>,
}

impl JobFigures {
    /// Whether the job is paused at `now`.
    pub(super) fn is_paused(&self, now: UtcMillis) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }
}
