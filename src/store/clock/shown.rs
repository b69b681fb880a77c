//! Which times the store's clock has shown, in this life of the store and before.

use std::time::Duration;

use crate::time::UtcMillis;

/// Clocks of two servers may differ by so much where nobody calls one of them wrong.
const DIFFERENCE: Duration = Duration::from_secs(5);

/// What was heard of the store's time. 0 stands for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimesHeard {
    /// The latest in any earlier era, or that the clock may have shown when it was set back.
    at_most: UtcMillis,
    /// The latest in any earlier era.
    earlier: UtcMillis,
    /// The last one in the era before this one, and the first one in this, both by the clock as it is now.
    lately: UtcMillis,
    taken_over: UtcMillis,
    /// Whether the clock of an earlier era was seen to have been ahead, in this one.
    was_ahead: bool,
    /// The latest of all, and before the newest reading.
    latest: UtcMillis,
    before: UtcMillis,
    /// The last one, and before the newest reading: less than the latest where the clock was set back.
    recent: UtcMillis,
    recent_before: UtcMillis,
}

impl TimesHeard {
    /// After a first reading.
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

    /// Takes in a reading.
    pub(crate) fn read(&mut self, store: UtcMillis) {
        (self.before, self.latest) = (self.latest, self.latest.max(store));
        (self.recent_before, self.recent) = (self.recent, store);
    }

    /// An answer between two readings showed this.
    pub(crate) fn hear(&mut self, store: UtcMillis) {
        self.latest = self.latest.max(store);
        self.recent = self.recent.max(store);
    }

    /// The clock was set back by so much.
    pub(crate) fn set_back(&mut self, by: Duration) {
        (self.lately, self.taken_over) = (self.lately.minus(by), self.taken_over.minus(by));
    }

    /// It may have shown this until it was set back, in this era.
    pub(crate) fn raise(&mut self, shown: UtcMillis) {
        self.at_most = self.at_most.max(shown);
    }

    /// The latest in any earlier era, or that the clock may have shown when it was set back.
    pub(crate) fn at_most(&self) -> UtcMillis {
        self.at_most
    }

    /// It may have shown this until the newest reading, which is of another era.
    pub(crate) fn may_have_shown(&mut self, shown: UtcMillis) {
        self.before = self.before.max(shown);
    }

    /// Whatever was decided before the newest reading may be forgotten.
    pub(crate) fn remember(&mut self) {
        self.at_most = self.at_most.max(self.before);
        self.earlier = self.earlier.max(self.at_most);
        (self.lately, self.taken_over, self.was_ahead) = (self.recent_before, self.recent, false);
    }

    /// No clock that is right shows more than `front` now. What is seen to have been ahead was so also when that time has come.
    pub(crate) fn look(&mut self, front: UtcMillis) {
        self.was_ahead |= self.is_ahead(front) && self.lately <= front;
    }

    /// Whether a clock of an earlier era has shown more than any that is right, by more than clocks differ.
    fn is_ahead(&self, front: UtcMillis) -> bool {
        self.earlier > front.plus(DIFFERENCE)
    }

    /// The latest in any earlier era, where no clock that is right shows more than `front`. Where one that was ahead has shown more,
    /// it is the last one of the era before: later ticks cannot have been forgotten with that. Where that was ahead as well, a server
    /// took over that shows less.
    pub(crate) fn earlier(&self, front: UtcMillis) -> UtcMillis {
        match self.was_ahead || self.is_ahead(front) {
            false => self.earlier,
            true if self.lately > front => self.lately.min(self.taken_over),
            true => self.lately,
        }
    }
}
