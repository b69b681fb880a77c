//! A file with a long lease, which replicas have for a while.

use std::time::Duration;

use crate::replica::simulation::world::scenario::LONG_LEASE;
use crate::replica::simulation::world::{Event, Mend, World};

impl World {
    /// A replica or more start with a file that has a long lease for every job, and so does whoever else starts; soon the file
    /// is as before, and those replicas start again.
    pub(super) fn load_long_leases(&mut self, seat: usize) -> bool {
        if self.scenario.is_stretched || !self.may_start_again(seat) {
            return false;
        }
        self.scenario.is_stretched = true;
        let during = self.dice.ms(10_000, 60_000);
        self.note(|| format!("files have a long lease for {during:?}"));
        self.long_until = self.now.plus(during);
        // A lock that nobody holds any more is waited for as long.
        self.trouble(during + LONG_LEASE);
        for other in 0..self.scenario.replicas {
            if other == seat || self.may_start_again(other) && self.dice.percent(60) {
                let soon = self.dice.ms(100, 3_000);
                self.start_again(other, soon);
            }
        }
        self.at(during, Event::Mend(Mend::ShortLeases));
        true
    }

    /// The file is as before: who has the other one starts again, and a long lease later nobody may have one.
    pub(super) fn load_short_leases(&mut self) {
        let has_long = |world: &Self, seat: usize| {
            let node = world.seats[seat].node.as_ref();
            node.is_some_and(|node| node.jobs[0].lease == LONG_LEASE)
        };
        for seat in 0..self.scenario.replicas {
            if has_long(self, seat) && self.may_start_again(seat) {
                self.start_again(seat, Duration::from_millis(500));
            }
        }
        if (0..self.scenario.replicas).any(|seat| has_long(self, seat)) {
            self.trouble(Duration::from_secs(2));
            return self.at(Duration::from_secs(1), Event::Mend(Mend::ShortLeases));
        }
        // A run may hold one until its replica is gone, and the lock one more.
        let over = LONG_LEASE + Duration::from_secs(10);
        self.trouble(over);
        self.at(over, Event::Mend(Mend::Forgotten));
    }

    /// Whether a replica may be killed: others remember, and no frozen guard is left without a replica. Nobody could stop its run,
    /// which is out of the promise.
    pub(super) fn may_start_again(&self, seat: usize) -> bool {
        self.now >= self.delicate && self.is_up(seat) && !self.has_frozen_guard(seat)
    }
}
