//! The coming ticks of a job, as programs see them.

use serde::Serialize;

use crate::job::{JobName, Schedule, Tick};
use crate::view::text::time_format::Rfc3339;

/// A coming tick, with the field names that programs rely on.
#[derive(Debug, Serialize)]
pub(crate) struct ComingTick<'a> {
    /// Null for an expression outside the file.
    job: Option<&'a JobName>,
    tick: Rfc3339,
    tick_ms: Tick,
    /// In the time zone of the schedule.
    local: String,
}

impl<'a> ComingTick<'a> {
    /// Returns the view of a tick of this schedule.
    pub(crate) fn of(job: Option<&'a JobName>, schedule: &Schedule, tick: Tick) -> Self {
        Self { job, tick: Rfc3339(tick.instant()), tick_ms: tick, local: schedule.local_text(tick) }
    }
}
