//! Injects faults: only those, and only when, the promise of the design covers them.

mod data_loss;
pub(super) mod fault;
mod long_lease;

use std::time::Duration;

use fault::Fault;

use crate::lease::Memory;

use super::checks::safety::Violation;
use super::stand_ins::exchanges::Exchanges;
use super::world::message::Order;
use super::world::network::{Cut, Weather};
use super::world::process::{Guard, Process};
use super::world::store::Service;
use super::world::{Event, Mend, World};

impl World {
    pub(super) fn next_fault(&mut self) {
        if !self.is_troubled() {
            // Wrong clocks would be trouble without end.
            return self.correct_clocks();
        }
        let fault = self.dice.pick(self.menu);
        if fault.befalls(self.server.memory) && self.inject(fault) {
            self.tally.count(&fault.name());
        }
        let pause =
            if self.dice.percent(8) { self.dice.ms(60_000, 120_000) } else { self.dice.ms(10, 15_000) };
        self.at(pause, Event::Fault);
    }

    /// Injects this fault, if it may happen now; returns whether it does.
    fn inject(&mut self, fault: Fault) -> bool {
        let seat = self.dice.below(self.scenario.replicas);
        let (store, own) = (self.scenario.store_clock(), self.scenario.clock_of(seat));
        match fault {
            Fault::Rough => self.let_be_rough(),
            Fault::Cut => self.cut(seat),
            Fault::Crash => self.crash(seat),
            Fault::Freeze => self.freeze(seat),
            Fault::GuardFrozen | Fault::GuardKilled => self.harm_guard(fault == Fault::GuardKilled),
            Fault::StoreStep => self.step_clock(store),
            Fault::ReplicaStep => self.step_clock(own),
            Fault::StoreAhead
            | Fault::StoreBehind
            | Fault::ReplicaAhead
            | Fault::ReplicaBehind
            | Fault::BothAhead
            | Fault::BothBehind => self.step_far(fault, seat),
            Fault::FailoverBehind => self.fail_over_behind(),
            // This fault happens at the start only.
            Fault::WrongStart => false,
            Fault::StoreSlewed => self.slew(store),
            Fault::ReplicaSlewed => self.slew(own),
            Fault::Emptied
            | Fault::Deleted
            | Fault::Failover
            | Fault::RecordLost
            | Fault::KnownLost
            | Fault::NodesLost
            | Fault::RecordAndKnownLost
            | Fault::RecordAndNodesLost
            | Fault::Rollback => self.forget(fault),
            Fault::Guest => self.invite(None),
            Fault::LongLease => self.load_long_leases(seat),
            Fault::Restart => self.restart_store(),
            Fault::StoreFrozen => self.freeze_store(),
            Fault::WritesRefused => self.refuse_writes(seat),
            Fault::Suspend => self.suspend(seat),
            Fault::Lies => self.begin_to_lie(),
            Fault::Unkillable => self.let_none_be_killed(),
            Fault::Drain => self.drain(seat),
            Fault::Reload => self.reload(seat),
        }
    }

    /// Whether the replicas that remember what the store forgot must be left undisturbed until they have reported it.
    fn is_delicate(&self) -> bool {
        self.now < self.delicate
    }

    /// Whether a record was deleted, and no replica has noticed that yet.
    fn is_record_missing(&self) -> bool {
        let mut records = self.server.shelf.records.iter().zip(&self.server.first_marks);
        records.any(|(record, first)| record.is_none() && first.is_some())
    }

    fn let_be_rough(&mut self) -> bool {
        if self.is_delicate() || self.weather == Weather::Rough {
            return false;
        }
        let during = self.dice.ms(1_000, 40_000);
        self.note(|| format!("rough for {during:?}"));
        self.weather = Weather::Rough;
        self.hinder(None, during);
        // What is under way arrives later still.
        self.trouble(during + Duration::from_secs(62));
        self.at(during, Event::Mend(Mend::Weather));
        true
    }

    fn cut(&mut self, seat: usize) -> bool {
        if self.is_delicate() || self.seats[seat].cut.is_some() {
            return false;
        }
        let (cut, during) = (self.dice.pick(&Cut::ALL), self.dice.ms_of_any_order(60_000));
        self.cut_for(seat, cut, during);
        true
    }

    pub(super) fn cut_for(&mut self, seat: usize, cut: Cut, during: Duration) {
        self.note(|| format!("seat {seat} is cut off for {during:?}: {cut:?}"));
        self.tally.count(&format!("cut {cut:?}"));
        self.seats[seat].cut = Some(cut);
        self.hinder(Some(seat), during);
        self.trouble(during);
        self.at(during, Event::Mend(Mend::Connect(seat)));
    }

    fn crash(&mut self, seat: usize) -> bool {
        if !self.may_start_again(seat) {
            return false;
        }
        let during = self.dice.ms_of_any_order(60_000);
        self.start_again(seat, during);
        true
    }

    /// A replica is ordered to drain, as at a restart, or to stop at once.
    fn drain(&mut self, seat: usize) -> bool {
        if !self.may_start_again(seat) {
            return false;
        }
        let order = if self.dice.percent(25) { Order::StopAtOnce } else { Order::Drain };
        self.order(seat, order);
        true
    }

    /// A replica loads its other file, or its own again.
    fn reload(&mut self, seat: usize) -> bool {
        if !self.is_up(seat) {
            return false;
        }
        let file = if self.dice.percent(50) { seat } else { self.scenario.other_file(seat) };
        self.order(seat, Order::Reload(file));
        true
    }

    /// A replica is killed, and starts again after so long.
    pub(super) fn start_again(&mut self, seat: usize, during: Duration) {
        self.note(|| format!("seat {seat} crashes, and is back in {during:?}"));
        self.end_life(seat);
        let its: Vec<usize> =
            self.witness.alive().filter(|(_, run)| run.seat == seat).map(|(at, _)| at).collect();
        for run in its {
            if self.witness.runs[run].stop_by_guard(self.now, &mut self.dice) {
                self.tally.count("guard killed at the end of its replica");
                self.expect_end(run);
            }
        }
        self.trouble(during + Duration::from_secs(4));
        self.at(during, Event::Mend(Mend::Restart(seat)));
    }

    /// Its replica is gone; what it had on disk stays.
    pub(super) fn end_life(&mut self, seat: usize) {
        let place = &mut self.seats[seat];
        if let Some(node) = place.node.take() {
            place.disk = node.disk;
        }
        place.life += 1;
        place.is_stepped = false;
        place.held.clear();
        place.exchanges = Exchanges::default();
        place.orphans.clear();
        place.is_capacity_unchecked = false;
    }

    fn freeze(&mut self, seat: usize) -> bool {
        if self.is_delicate() || !self.is_up(seat) || self.has_frozen_guard(seat) {
            return false;
        }
        let during = self.dice.ms_of_any_order(90_000);
        self.freeze_for(seat, during);
        true
    }

    pub(super) fn freeze_for(&mut self, seat: usize, during: Duration) {
        self.note(|| format!("seat {seat} is frozen for {during:?}"));
        self.seats[seat].frozen = Some(self.now.plus(during));
        self.hinder(Some(seat), during);
        self.trouble(during);
        self.at(during, Event::Mend(Mend::Thaw(seat)));
    }

    pub(super) fn is_up(&self, seat: usize) -> bool {
        self.seats[seat].node.is_some() && self.seats[seat].frozen.is_none()
    }

    pub(super) fn has_frozen_guard(&self, seat: usize) -> bool {
        self.witness.alive().any(|(_, run)| run.seat == seat && matches!(run.guard, Guard::Frozen(_)))
    }

    /// A guard is stopped while its replica moves, or is killed.
    fn harm_guard(&mut self, is_killed: bool) -> bool {
        let is_harmed = |run: &Process| run.guard == Guard::Well && self.is_up(run.seat);
        let all = self.witness.alive().filter(|(_, run)| is_harmed(run));
        let runs: Vec<usize> = all.map(|(at, _)| at).collect();
        if runs.is_empty() {
            return false;
        }
        let run = self.dice.pick(&runs);
        if is_killed {
            self.note(|| format!("guard of run {run} is killed"));
            self.trouble(Duration::from_secs(1));
            if self.witness.runs[run].lose_guard(self.now, &mut self.dice) {
                self.expect_end(run);
            }
            self.expect_complaint(run, Duration::ZERO);
            return true;
        }
        let during = self.dice.ms(100, 60_000);
        self.note(|| format!("guard of run {run} is frozen for {during:?}"));
        self.witness.runs[run].guard = Guard::Frozen(self.now.plus(during));
        self.at(during, Event::Mend(Mend::GuardThaw(run)));
        true
    }

    fn restart_store(&mut self) -> bool {
        if self.is_delicate() || self.server.service != Service::Up {
            return false;
        }
        if self.server.memory == Memory::Durable {
            return !self.is_record_missing() && self.reboot();
        }
        let down = self.dice.ms_of_any_order(20_000);
        self.note(|| format!("store restarts, and is back in {down:?}"));
        self.server.service = Service::Down;
        self.server.begin_life(self.server.shelf.clone(), self.now.utc());
        self.hinder(None, down);
        self.trouble(down + self.scenario.longest());
        self.at(down, Event::Mend(Mend::Service));
        true
    }

    fn freeze_store(&mut self) -> bool {
        if self.is_delicate() || self.server.service != Service::Up {
            return false;
        }
        let during = self.dice.ms_of_any_order(40_000);
        self.note(|| format!("store is frozen for {during:?}"));
        self.server.service = Service::Frozen(self.now.plus(during));
        self.hinder(None, during);
        self.trouble(during + Duration::from_secs(3));
        self.at(during, Event::Mend(Mend::Service));
        true
    }

    fn refuse_writes(&mut self, seat: usize) -> bool {
        if self.is_delicate() || self.server.service != Service::Up {
            return false;
        }
        let during = self.dice.ms_of_any_order(60_000);
        // One replica's own user may lack a right, and every write fails on a full disk.
        let of = Some(seat).filter(|_| self.dice.percent(50));
        self.note(|| format!("store refuses writes of {of:?} for {during:?}"));
        self.server.service = Service::RefusesWrites(of);
        self.hinder(of, during);
        self.trouble(during + self.scenario.longest());
        self.at(during, Event::Mend(Mend::Service));
        true
    }

    /// What was wrong is right again.
    pub(super) fn mend(&mut self, mend: Mend) -> Result<(), Violation> {
        match mend {
            Mend::Thaw(seat) => return self.thaw(seat),
            Mend::Restart(seat) => return self.start_replica(seat),
            Mend::Connect(seat) => self.seats[seat].cut = None,
            Mend::Weather => self.weather = Weather::Fair,
            Mend::Service => self.server.service = Service::Up,
            Mend::GuardThaw(run) => {
                self.witness.runs[run].guard = Guard::Well;
                self.watch_deadline(run);
            }
            Mend::Clock(clock) => self.set_clock(clock, None),
            Mend::Pace(clock) => self.pace_changed(clock),
            Mend::Guest(job) => return self.begin_visit(job),
            Mend::ShortLeases => self.load_short_leases(),
            Mend::Forgotten => self.forget_long_leases(),
        }
        Ok(())
    }
}
