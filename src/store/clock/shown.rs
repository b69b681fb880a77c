//! The times that the store's clock has shown, in this era and in earlier ones.

use std::time::Duration;

use crate::time::UtcMillis;

/// The clocks of two servers may differ by this much without one of them counting as wrong.
const DIFFERENCE: Duration = Duration::from_secs(5);

/// The store times that this replica has received. 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimesHeard {
    /// The latest in any earlier era, or the latest that the clock may have shown before it was set back.
    at_most: UtcMillis,
    /// The latest in any earlier era.
    earlier: UtcMillis,
    /// The last one in the previous era, and the first one in this era, both by the clock as it is now.
    lately: UtcMillis,
    taken_over: UtcMillis,
    /// Whether it was found in this era that the clock of an earlier era was ahead.
    was_ahead: bool,
    /// The latest of all, and the latest before the newest reading.
    latest: UtcMillis,
    before: UtcMillis,
    /// The most recent one, and the most recent one before the newest reading. Less than the latest if the clock was set
    /// back.
    recent: UtcMillis,
    recent_before: UtcMillis,
}

impl TimesHeard {
    /// Returns the times after a first reading.
    pub(crate) fn first(store: UtcMillis) -> Self {
        let none = UtcMillis(0);
        let (latest, recent) = (store, store);
        Self {
            at_most: none,
            earlier: none,
            lately: none,
            taken_over: none,
            was_ahead: false,
            latest,
            before: none,
            recent,
            recent_before: none,
        }
    }

    /// Adds a reading.
    pub(crate) fn read(&mut self, store: UtcMillis) {
        (self.before, self.latest) = (self.latest, self.latest.max(store));
        (self.recent_before, self.recent) = (self.recent, store);
    }

    /// Adds a time that an answer between two readings showed.
    pub(crate) fn hear(&mut self, store: UtcMillis) {
        self.latest = self.latest.max(store);
        self.recent = self.recent.max(store);
    }

    /// Records that the clock was set back by this much.
    pub(crate) fn set_back(&mut self, by: Duration) {
        (self.lately, self.taken_over) = (self.lately.minus(by), self.taken_over.minus(by));
    }

    /// Records that the clock may have shown this time in this era before it was set back.
    pub(crate) fn raise(&mut self, shown: UtcMillis) {
        self.at_most = self.at_most.max(shown);
    }

    /// Returns the latest time in any earlier era, or the latest that the clock may have shown before it was set back.
    pub(crate) fn at_most(&self) -> UtcMillis {
        self.at_most
    }

    /// Records that the clock may have shown this time before the newest reading, which is of another era.
    pub(crate) fn may_have_shown(&mut self, shown: UtcMillis) {
        self.before = self.before.max(shown);
    }

    /// Records that everything decided before the newest reading may be forgotten.
    pub(crate) fn remember(&mut self) {
        self.at_most = self.at_most.max(self.before);
        self.earlier = self.earlier.max(self.at_most);
        (self.lately, self.taken_over, self.was_ahead) = (self.recent_before, self.recent, false);
    }

    /// Checks whether the clock of an earlier era was ahead: no correct clock shows more than `front` now. The result stays
    /// true when the time comes that the clock had shown.
    pub(crate) fn look(&mut self, front: UtcMillis) {
        self.was_ahead |= self.is_ahead(front) && self.lately <= front;
    }

    /// Whether the clock of an earlier era has shown more than a correct clock shows now, by more than clocks differ.
    fn is_ahead(&self, front: UtcMillis) -> bool {
        self.earlier > front.plus(DIFFERENCE)
    }

    /// Returns the latest time in any earlier era; no correct clock shows more than `front`. If a clock that was ahead has
    /// shown more, returns the last time of the previous era: no later tick can have been forgotten with that era. If that
    /// time is ahead as well, and the server that took over first showed an earlier one, returns that one.
    pub(crate) fn earlier(&self, front: UtcMillis) -> UtcMillis {
        match self.was_ahead || self.is_ahead(front) {
            false => self.earlier,
            true if self.lately > front => self.lately.min(self.taken_over),
            true => self.lately,
        }
    }
}
