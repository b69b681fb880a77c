//! Whether a job's record is open on this replica, and what to log while it is not. Pure.

use std::time::Duration;

use crate::job::{Schedule, Tick};
use crate::time::UtcMillis;

/// How often it is logged per job that nothing can be claimed.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// How long an instant counts as one that has just come.
const JUST_COME: Duration = Duration::from_secs(1);

/// Whether the record of a job is open.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    open: bool,
    /// When it was last logged that nothing can be claimed.
    complained: Option<UtcMillis>,
}

impl Registration {
    /// Whether the record is known to be of the store's current era.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Sets whether the record is open; otherwise it has to be opened again.
    pub(crate) fn set(&mut self, open: bool) {
        self.open = open;
    }

    /// Whether to log once more that nothing can be claimed. If so, counts it as logged.
    pub(crate) fn may_complain(&mut self, now: UtcMillis) -> bool {
        let may = self.complained.is_none_or(|before| now.since(before) >= COMPLAIN_EVERY);
        if may {
            self.complained = Some(now);
        }
        may
    }

    /// Returns the tick whose instant has just come, if it is to be logged that it cannot be claimed.
    pub(crate) fn unheard(&mut self, schedule: &Schedule, now: UtcMillis) -> Option<Tick> {
        let tick = schedule.at_or_before(now).filter(|tick| now.since(tick.instant()) < JUST_COME)?;
        self.may_complain(now).then_some(tick)
    }
}
