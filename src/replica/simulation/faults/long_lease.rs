//! Replicas have a file with a long lease for a while.

use std::time::Duration;

use crate::replica::simulation::world::scenario::LONG_LEASE;
use crate::replica::simulation::world::{Event, Mend, World};

/// Replicas forget the long lease when they have watched the store for as long, and with the next heartbeats.
const FORGOTTEN_WITHIN: Duration = LONG_LEASE.saturating_add(Duration::from_secs(10));

impl World {
    /// Starts one or more replicas with a file that has a long lease for every job; any other replica that starts by
    /// then has it, too. Soon the former file is back, and those replicas start again.
    pub(super) fn load_long_leases(&mut self, seat: usize) -> bool {
        if self.scenario.is_stretched || !self.may_start_again(seat) {
            return false;
        }
        self.scenario.is_stretched = true;
        let during = self.dice.ms(10_000, 60_000);
        self.note(|| format!("files have a long lease for {during:?}"));
        self.long_until = self.now.plus(during);
        // A lock that no replica holds any more is waited for as long.
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

    /// Brings the former file back: replicas with the other one start again, and one long lease later no lock may have
    /// it.
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
        self.trouble(FORGOTTEN_WITHIN);
        self.at(FORGOTTEN_WITHIN, Event::Mend(Mend::Forgotten));
    }

    /// Ends the time in which replicas may wait for the long lease, if they have watched the store for that long. Whatever
    /// keeps them from watching makes them wait for it again: a holder without a heartbeat may have renewed meanwhile.
    /// Replicas whose files differ never know that no file has it.
    pub(super) fn forget_long_leases(&mut self) {
        let files = &self.scenario.files[..self.scenario.replicas];
        if files.iter().any(|file| file.hash != files[0].hash) {
            return;
        }
        let disturbed = self.hindrances.iter().map(|hindrance| hindrance.until).max().unwrap_or_default();
        let over = disturbed.plus(FORGOTTEN_WITHIN).max(self.delicate);
        if over > self.now {
            return self.at_moment(over, Event::Mend(Mend::Forgotten));
        }
        self.scenario.is_stretched = false;
    }

    /// Whether a replica may be killed: others remember, and no frozen guard is left without a replica. Nothing could
    /// stop the run of such a guard, which the promise excludes.
    pub(super) fn may_start_again(&self, seat: usize) -> bool {
        let remembers_alone = self.scenario.replicas == 1 && self.is_record_missing();
        self.now >= self.delicate && self.is_up(seat) && !self.has_frozen_guard(seat) && !remembers_alone
    }
}
