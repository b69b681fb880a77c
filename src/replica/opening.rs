//! Whether a job's record is open on this replica, and what there is to say while it is not. Pure.

use std::time::Duration;

use crate::job::{Schedule, Tick, UtcMillis};

/// A record of a newer release is complained of this often.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// An instant has just come within this long after it.
const JUST_COME: Duration = Duration::from_secs(1);

/// The record of a job, as far as opening it goes.
#[derive(Debug, Default)]
pub(super) struct Opening {
    open: bool,
    /// When a record of a newer release was last complained of.
    complained: Option<UtcMillis>,
    /// The newest tick that was told to wait for the store although no record is open.
    unheard: Option<Tick>,
}

impl Opening {
    /// Whether the record is known to be of the store's present era.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The record is open, or has to be opened again.
    pub(super) fn set(&mut self, open: bool) {
        self.open = open;
    }

    /// Whether a record of a newer release is worth another complaint.
    pub(super) fn may_complain(&mut self, now: UtcMillis) -> bool {
        let may = self.complained.is_none_or(|before| now.since(before) >= COMPLAIN_EVERY);
        if may {
            self.complained = Some(now);
        }
        may
    }

    /// The tick whose instant has just come, if it cannot even be claimed because no record is open; told once.
    pub(super) fn unheard(&mut self, schedule: &Schedule, now: UtcMillis) -> Option<Tick> {
        let tick = schedule.at_or_before(now)?;
        let is_news = !self.open && now.since(tick.instant()) < JUST_COME && self.unheard < Some(tick);
        if is_news {
            self.unheard = Some(tick);
        }
        is_news.then_some(tick)
    }
}
