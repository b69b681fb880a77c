//! Which times the store's clock has shown, in this life of the store and before.

use std::time::Duration;

use crate::job::UtcMillis;

/// What was heard of the store's time. 0 stands for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    /// The latest in any earlier era, or that the clock may have shown when it was set back.
    at_most: UtcMillis,
    /// The latest in any earlier era.
    earlier: UtcMillis,
    /// The last one in the era before this one, by the clock as it is now.
    lately: UtcMillis,
    /// The latest of all, and before the newest reading.
    latest: UtcMillis,
    before: UtcMillis,
    /// The last one, and before the newest reading: less than the latest, where the clock was set back.
    recent: UtcMillis,
    recent_before: UtcMillis,
}

impl Heard {
    /// After a first reading.
    pub(super) fn first(store: UtcMillis) -> Self {
        let none = UtcMillis(0);
        let (at_most, earlier, lately, before, recent_before) = (none, none, none, none, none);
        Self { at_most, earlier, lately, latest: store, before, recent: store, recent_before }
    }

    /// Takes in a reading.
    pub(super) fn read(&mut self, store: UtcMillis) {
        (self.before, self.latest) = (self.latest, self.latest.max(store));
        // A server that takes over may show less.
        (self.recent_before, self.recent) = (self.recent.min(store), store);
    }

    /// An answer between two readings showed this.
    pub(super) fn hear(&mut self, store: UtcMillis) {
        self.latest = self.latest.max(store);
        self.recent = self.recent.max(store);
    }

    /// The clock was set back by so much.
    pub(super) fn set_back(&mut self, by: Duration) {
        self.lately = self.lately.minus(by);
    }

    /// It may have shown this until it was set back, in this era.
    pub(super) fn raise(&mut self, shown: UtcMillis) {
        self.at_most = self.at_most.max(shown);
    }

    /// The latest in any earlier era, or that the clock may have shown when it was set back.
    pub(super) fn at_most(&self) -> UtcMillis {
        self.at_most
    }

    /// It may have shown this until the newest reading, which is of another era.
    pub(super) fn may_have_shown(&mut self, shown: UtcMillis) {
        self.before = self.before.max(shown);
    }

    /// Whatever was decided before the newest reading may be forgotten.
    pub(super) fn remember(&mut self) {
        self.at_most = self.at_most.max(self.before);
        self.earlier = self.earlier.max(self.at_most);
        self.lately = self.recent_before;
    }

    /// The latest in any earlier era, where no clock that is right shows more than `front`. Where one that was ahead has shown more,
    /// it is the last one of the era before: later ticks cannot have been forgotten with that.
    pub(super) fn earlier(&self, front: UtcMillis) -> UtcMillis {
        if self.earlier > front { self.lately } else { self.earlier }
    }
}
