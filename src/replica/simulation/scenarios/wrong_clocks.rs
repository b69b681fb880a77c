//! Clocks that are wrong for a while: stepped by milliseconds or by years, slewed, or wrong from the start.

use std::time::Duration;

use crate::lease::Memory;
use crate::replica::simulation::faults::fault::Fault;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::network::Cut;
use crate::replica::simulation::world::process::Process;
use crate::replica::simulation::world::{Event, FAULTS, Happening, Mend, QUIET, World};

/// Clocks are often set off by up to a minute.
const STEP: u64 = 60_000;

const HOUR: u64 = 3_600_000;
const YEAR: u64 = 365 * 24 * HOUR;

/// The kernel slews by up to a tenth, in parts of a million, and a widespread daemon by a twelfth.
const USUAL_SLEW: u64 = 83_333;
const FASTEST_SLEW: u64 = 100_000;

/// How far a clock that was set right by hand may still be off.
const NEARLY_RIGHT: Duration = Duration::from_millis(20);

/// A larger change at once is a step to a replica, which then waits for a lease.
const STEADY: Duration = Duration::from_millis(100);

impl World {
    /// A wall clock is set off by up to a minute, and right again after a while.
    pub(crate) fn step_clock(&mut self, clock: usize) -> bool {
        if self.is_wrong_already(clock) {
            return false;
        }
        let by = self.dice.ms_of_any_order(STEP).as_millis() as i64;
        let by = if self.dice.percent(50) || self.now < self.rows_unknown { by } else { -by };
        self.step_for(&[clock], by, 100);
        true
    }

    /// A wall clock, or the store's and a replica's at once, as on one machine, are wrong by minutes, hours or years, and
    /// right again within a minute.
    pub(crate) fn step_far(&mut self, fault: Fault, seat: usize) -> bool {
        let (store, own) = (self.scenario.store_clock(), self.scenario.clock_of(seat));
        let clocks: &[usize] = match fault {
            Fault::StoreAhead | Fault::StoreBehind => &[store],
            Fault::ReplicaAhead | Fault::ReplicaBehind => &[own],
            _ if store == own => &[own],
            _ => &[store, own],
        };
        if clocks.iter().any(|clock| self.is_wrong_already(*clock)) {
            return false;
        }
        let is_ahead = matches!(fault, Fault::StoreAhead | Fault::ReplicaAhead | Fault::BothAhead);
        let by = self.far();
        self.step_for(clocks, if is_ahead { by } else { -by }, 1_000);
        true
    }

    /// A follower becomes the store. Its clock is behind by minutes, hours or years, and right again within a minute.
    pub(crate) fn fail_over_behind(&mut self) -> bool {
        let store = self.scenario.store_clock();
        if self.is_wrong_already(store) || !self.forget(Fault::Failover) {
            return false;
        }
        let by = self.far();
        self.step_for(&[store], -by, 1_000);
        true
    }

    /// Everything starts for the first time while clocks are wrong: the store's, or all of them.
    pub(crate) fn begin(&mut self) {
        if !self.menu.contains(&Fault::WrongStart) || self.dice.percent(40) {
            return;
        }
        let all: Vec<usize> = (0..self.scenario.clocks.len()).collect();
        let store = [self.scenario.store_clock()];
        let is_everywhere = self.dice.percent(50);
        let by = self.far();
        let by = if self.dice.percent(70) { by } else { -by };
        self.tally.count(&Fault::WrongStart.name());
        self.step_for(if is_everywhere { &all } else { &store }, by, 1_000);
    }

    /// Returns how far a clock is off: often so little that the wrong time comes within the simulation.
    fn far(&mut self) -> i64 {
        let far = match self.dice.between(0, 4) {
            0..=2 => self.dice.ms(2_000, 200_000),
            3 => self.dice.ms(HOUR / 2, 30 * HOUR),
            _ => self.dice.ms(YEAR / 12, 10 * YEAR),
        };
        i64::try_from(far.as_millis()).expect("some years")
    }

    fn is_wrong_already(&self, clock: usize) -> bool {
        self.now < self.delicate || self.scenario.clocks[clock].error(self.now) > Duration::from_secs(10)
    }

    /// Sets clocks off by this much for at least so many milliseconds, and at most a minute.
    fn step_for(&mut self, clocks: &[usize], by: i64, at_least: u64) {
        let during = self.dice.ms(at_least, 60_000);
        self.note(|| format!("clocks {clocks:?} are stepped by {by} ms for {during:?}"));
        self.trouble(during + self.scenario.longest());
        for clock in clocks {
            self.set_clock(*clock, Some(by));
            self.at(during, Event::Mend(Mend::Clock(*clock)));
        }
    }

    /// The clocks of a machine run too fast or too slow, by up to a tenth; then they are slewed back, or set right.
    pub(crate) fn slew(&mut self, clock: usize) -> bool {
        let left = Moment(0).plus(FAULTS).since(self.now);
        if self.now < self.delicate || left < Duration::from_secs(5) || self.is_slewed(clock) {
            return false;
        }
        let slowest = if self.dice.percent(50) { FASTEST_SLEW / 10 } else { USUAL_SLEW };
        let rate = i64::try_from(self.dice.between(slowest, FASTEST_SLEW)).expect("small");
        let rate = if self.dice.percent(50) { rate } else { -rate };
        let during = self.dice.ms(5_000, 180_000).min(left);
        let is_slewed_back = self.dice.percent(50);
        let all = if is_slewed_back { during * 2 } else { during };
        self.note(|| format!("clock {clock} is slewed by {rate} ppm for {during:?}, back: {is_slewed_back}"));
        self.scenario.clocks[clock].slew(self.now, during, rate);
        if is_slewed_back {
            self.scenario.clocks[clock].slew(self.now.plus(during), during, -rate);
        }
        self.trouble(all + self.scenario.longest());
        self.cut_off_a_holder(clock);
        for pace in [Duration::ZERO, during, all] {
            self.at(pace, Event::Mend(Mend::Pace(clock)));
        }
        self.at(all, Event::Mend(Mend::Clock(clock)));
        true
    }

    /// Cuts off a holder, on the slewed machine if that has one: its lock runs out by one clock, and its run stops by
    /// another.
    fn cut_off_a_holder(&mut self, clock: usize) {
        let is_free = |seat: &usize| self.seats[*seat].cut.is_none() && *seat < self.scenario.replicas;
        let holders: Vec<usize> = self.witness.alive().map(|(_, run)| run.seat).filter(is_free).collect();
        let is_there = |seat: &&usize| self.scenario.clock_of(**seat) == clock;
        let there: Vec<usize> = holders.iter().filter(is_there).copied().collect();
        let among = if there.is_empty() { holders } else { there };
        if !among.is_empty() && self.server.memory == Memory::Forgetful && self.dice.percent(70) {
            let (seat, during) = (self.dice.pick(&among), self.dice.ms(0, 10_000) + self.scenario.longest());
            self.cut_for(seat, Cut::Silent, during);
        }
    }

    fn is_slewed(&self, clock: usize) -> bool {
        self.scenario.clocks[clock].is_slewed(self.now)
    }

    /// Handles a new rate of a machine's boot clock: its guards wait for another moment.
    pub(crate) fn pace_changed(&mut self, clock: usize) {
        let all = self.witness.alive().filter(|(_, run)| self.scenario.clock_of(run.seat) == clock);
        let runs: Vec<usize> = all.map(|(at, _)| at).collect();
        runs.into_iter().for_each(|run| self.watch_deadline(run));
    }

    /// Returns when the guard of a run finds its deadline over: by its boot clock, or by the one that is never slewed.
    pub(crate) fn deadline_of(&self, process: &Process) -> Moment {
        let clock = &self.scenario.clocks[self.scenario.clock_of(process.seat)];
        let (told, left) = process.told;
        clock.when(process.deadline, self.now).min(clock.when_unslewed(told, left)).max(self.now)
    }

    /// Every clock of a machine is right again from now on.
    pub(crate) fn correct_clocks(&mut self) {
        // A clock that drifted without being set right: setting it right is the last fault.
        if self.scenario.clocks.iter().any(|clock| clock.error(self.now) > STEADY) {
            self.trouble(self.scenario.longest());
        }
        (0..self.scenario.clocks.len()).for_each(|clock| self.set_clock(clock, None));
        // And they stay right, however much they drift.
        if self.now < Moment(0).plus(FAULTS + QUIET) {
            self.at(Duration::from_secs(10), Event::Fault);
        }
    }

    /// Sets a clock off by this much, or right; replicas that wait by it are notified.
    pub(crate) fn set_clock(&mut self, clock: usize, by: Option<i64>) {
        let (now, moved) = (self.now, &mut self.scenario.clocks[clock]);
        if by.is_none() && moved.error(now) < NEARLY_RIGHT {
            return;
        }
        match by {
            Some(by) => moved.step(by),
            None => moved.correct(now),
        }
        self.confusions.push((now, now.plus(Duration::from_secs(3))));
        if clock == self.scenario.store_clock() {
            // A request sent before this clock is read again comes at another time than it states.
            self.hinder(None, Duration::ZERO);
            self.store_steps.push((now, self.store_reads().wall));
        }
        self.pace_changed(clock);
        for seat in 0..self.seats.len() {
            if self.scenario.clock_of(seat) == clock {
                self.seats[seat].is_stepped = true;
                let (life, what) = (self.seats[seat].life, Box::new(Happening::Stepped));
                self.at(Duration::ZERO, Event::To { seat, life, what });
            }
        }
        self.forgive_first_marks();
    }

    /// Corrects the first marks: jobs whose schedule a wrong clock let begin in the future begin when clocks are right,
    /// and a lease has passed.
    fn forgive_first_marks(&mut self) {
        let now = self.now.utc();
        let is_wrong = self.scenario.clocks.iter().any(|clock| clock.error(self.now) > NEARLY_RIGHT * 25);
        let begins = now.plus(self.scenario.longest() + Duration::from_secs(5));
        if is_wrong {
            return;
        }
        for first in self.server.first_marks.iter_mut().flatten() {
            if *first > now.plus(Duration::from_secs(1)) {
                *first = begins;
            }
        }
    }
}
