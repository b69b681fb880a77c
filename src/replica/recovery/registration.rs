//! Whether a job's record is open on this replica, and what there is to say while it is not. Pure.

use std::time::Duration;

use crate::job::{Schedule, Tick};
use crate::time::UtcMillis;

/// That nothing can be claimed is complained of this often per job.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// An instant has just come within this long after it.
const JUST_COME: Duration = Duration::from_secs(1);

/// The record of a job, as far as opening it goes.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    open: bool,
    /// When it was last complained that nothing can be claimed.
    complained: Option<UtcMillis>,
}

impl Registration {
    /// Whether the record is known to be of the store's present era.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The record is open, or has to be opened again.
    pub(crate) fn set(&mut self, open: bool) {
        self.open = open;
    }

    /// Whether it is worth another complaint that nothing can be claimed.
    pub(crate) fn may_complain(&mut self, now: UtcMillis) -> bool {
        let may = self.complained.is_none_or(|before| now.since(before) >= COMPLAIN_EVERY);
        if may {
            self.complained = Some(now);
        }
        may
    }

    /// The tick whose instant has just come, if it is worth a complaint that it cannot be claimed.
    pub(crate) fn unheard(&mut self, schedule: &Schedule, now: UtcMillis) -> Option<Tick> {
        let tick = schedule.at_or_before(now).filter(|tick| now.since(tick.instant()) < JUST_COME)?;
        self.may_complain(now).then_some(tick)
    }
}
