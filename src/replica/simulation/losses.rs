//! What stores forget, and what whole machines suffer, as far as the promise goes: somebody within reach remembers, and
//! no run is left to a replica and a guard that are both frozen.

use std::rc::Rc;
use std::time::Duration;

use crate::job::{RunId, UtcMillis};
use crate::replica::memory::Memory;

use super::faults::Fault;
use super::network::Weather;
use super::node::Node;
use super::process::Guard;
use super::server::{Service, Shelf};
use super::witness::Violation;
use super::world::{Event, Mend, World};

/// Clocks are set off by up to a minute.
const STEP: u64 = 60_000;

/// Who beats every second has heard from the store within this long.
const JUST_HEARD: Duration = Duration::from_millis(1_200);

impl World {
    /// The store forgets, if nobody is hindered who remembers.
    pub(super) fn forget(&mut self, fault: Fault) -> bool {
        let is_fair = self.weather == Weather::Fair && self.server.service == Service::Up;
        if self.now < self.delicate || !is_fair || !self.seats.iter().all(super::seat::Seat::is_well) {
            // Not every replica is within reach: what is lost now, nobody might remember.
            return false;
        }
        if !self.all_have_just_heard() {
            return false;
        }
        let is_ahead = self.store_reads().wall > self.now.utc().plus(Duration::from_secs(1));
        if fault == Fault::Deleted && is_ahead {
            // Nobody notices before the job is next asked for. Who starts once the clock is set right, and asks first,
            // knows neither of the one nor of the other.
            return false;
        }
        let Some(shelf) = self.what_is_left(fault) else { return false };
        // What is forgotten twice before a tick comes may have no entry: nobody was told from where on.
        let jobs = 0..self.scenario.count();
        if jobs.clone().any(|job| self.server.owes_entries(job))
            || !jobs.into_iter().all(|job| self.is_remembered(job))
        {
            return false;
        }
        self.note(|| format!("store forgets: {fault:?}"));
        match fault {
            Fault::Failover => self.server.begin_life(shelf),
            _ => self.server.replace(shelf),
        }
        // They speak within a heartbeat or two; then a lease passes before anything is granted. A record that was deleted alone
        // is missed when the job is next asked for: not before the store's clock is beyond what was decided.
        let asked = if fault == Fault::Deleted { self.decided_ahead() } else { Duration::ZERO };
        let quiet = asked + self.scenario.longest() + Duration::from_secs(5);
        self.delicate = self.now.plus(quiet);
        self.trouble(quiet + Duration::from_secs(10));
        true
    }

    /// How far ahead of the store's clock anything is decided: by that clock, before it was set back.
    fn decided_ahead(&self) -> Duration {
        let nodes = || self.seats.iter().filter_map(|seat| seat.node.as_ref());
        let known = nodes().flat_map(|node| &node.contests).filter_map(|contest| contest.known().mark);
        known.max().unwrap_or_default().since(self.store_reads().wall)
    }

    /// Whether a replica remembers the mark, one the run that goes on, and all of them that the store's clock was ahead,
    /// if it was when the last fence was given out.
    fn is_remembered(&self, job: usize) -> bool {
        let Some(record) = &self.server.shelf.records[job] else { return true };
        let nodes = || self.seats.iter().filter_map(|seat| seat.node.as_ref());
        let heard = |node: &Node| node.memory.as_ref().map(Memory::heard).unwrap_or_default();
        let newest = UtcMillis(record.fence.0).max(record.mark);
        let is_past = newest <= self.store_reads().wall || nodes().all(|node| heard(node) >= newest);
        let is_known = is_past && nodes().any(|node| node.contests[job].known().mark >= Some(record.mark));
        let mut going_on = self.witness.alive().map(|(_, run)| run).filter(|run| run.job == job);
        let is_kept = |run: RunId| nodes().any(|node| node.keeps.iter().any(|keep| keep.holding.run == run));
        is_known && going_on.all(|run| is_kept(run.holding.run))
    }

    fn what_is_left(&mut self, fault: Fault) -> Option<Shelf> {
        match fault {
            Fault::Emptied => Some(self.server.empty_shelf()),
            Fault::Deleted => {
                let job = self.dice.below(self.scenario.count());
                let mut shelf = self.server.shelf.clone();
                shelf.records[job] = None;
                Some(shelf)
            }
            _ => {
                let pick = self.dice.below(16);
                self.server.copy_at(pick).cloned()
            }
        }
    }

    fn all_have_just_heard(&self) -> bool {
        self.seats.iter().all(|seat| seat.heard.is_some_and(|at| self.now.since(at) <= JUST_HEARD))
    }

    /// A wall clock is set off by up to a minute, and right again after a while.
    pub(super) fn step_clock(&mut self, clock: usize) -> bool {
        if self.now < self.delicate || self.scenario.clocks[clock].error(self.now) > Duration::from_secs(10) {
            return false;
        }
        let by = self.dice.ms_of_any_order(STEP).as_millis() as i64;
        let by = if self.dice.percent(50) { by } else { -by };
        self.note(|| format!("clock {clock} is stepped by {by} ms"));
        self.set_clock(clock, Some(by));
        let during = self.dice.ms(100, 60_000);
        // Until a clock that was ahead has been caught up with, ticks are decided already.
        self.trouble(during + Duration::from_millis(by.unsigned_abs()) + self.scenario.longest() * 2);
        self.at(during, Event::Mend(Mend::Clock(clock)));
        true
    }

    /// Everything on a machine stands still, its clocks excepted.
    pub(super) fn suspend(&mut self, seat: usize) -> bool {
        let clock = self.scenario.clock_of(seat);
        let seats: Vec<usize> =
            (0..self.seats.len()).filter(|seat| self.scenario.clock_of(*seat) == clock).collect();
        let runs = || self.witness.alive().filter(|(_, run)| seats.contains(&run.seat));
        // A machine that sleeps through the deadline of its runs is out of the promise: nothing is awake to stop them.
        let left = runs().map(|(_, run)| run.deadline.since(self.reads(run.seat).boot)).min();
        let at_most = left.map_or(90_000, |left| u64::try_from(left.as_millis()).expect("short"));
        let is_ready = seats.iter().all(|seat| self.is_up(*seat));
        if self.now < self.delicate
            || !is_ready
            || at_most < 10
            || runs().any(|(_, r)| r.guard != Guard::Well)
        {
            return false;
        }
        let during = self.dice.ms_of_any_order(at_most.saturating_sub(1));
        let runs: Vec<usize> = runs().map(|(at, _)| at).collect();
        self.note(|| format!("machine {clock} is suspended for {during:?}"));
        for seat in seats {
            self.freeze_for(seat, during);
        }
        for run in runs {
            // The command loses the time, too.
            self.witness.runs[run].ends = self.witness.runs[run].ends.plus(during);
            self.expect_end(run);
        }
        true
    }

    /// The machine of an embedded store is started anew: nothing on it lives on, and nothing is forgotten.
    pub(super) fn reboot(&mut self) -> bool {
        self.note(|| "machine is rebooted".to_owned());
        let runs: Vec<usize> = self.witness.alive().map(|(at, _)| at).collect();
        for seat in 0..self.seats.len() {
            self.end_life(seat);
            self.seats[seat].frozen = None;
        }
        for run in runs {
            self.witness.runs[run].ends = self.now;
            self.witness.runs[run].is_over = true;
        }
        let now = self.now;
        self.scenario.clocks[0].reboot(now);
        self.server.begin_life(self.server.shelf.clone());
        self.trouble(self.scenario.longest() * 2 + Duration::from_secs(10));
        for seat in 0..self.seats.len() {
            let after = self.dice.ms(0, 3_000);
            self.at(after, Event::Mend(Mend::Restart(seat)));
        }
        true
    }

    /// A replica starts, with what its last life left on disk.
    pub(super) fn start_replica(&mut self, seat: usize) -> Result<(), Violation> {
        if self.seats[seat].node.is_some() {
            return Ok(());
        }
        let (reads, clock) = (self.reads(seat), self.scenario.clock_of(seat));
        let jobs = Rc::clone(&self.scenario.jobs[seat]);
        let disk = std::mem::take(&mut self.seats[seat].disk);
        let mut node = Node::start(&self.scenario.names[seat], jobs, disk, reads);
        if let Some(slow) = &self.slow {
            (node.window, node.line) = (slow.end().window(), slow.end());
        }
        for job in node.awaited.clone() {
            // What goes on still is buried when it is over. What a reboot ended shows no sign, and keeps its lease.
            let run = node.disk[&job].holding().run;
            let its = self.witness.runs.iter().find(|process| process.holding.run == run);
            if its.is_none_or(|process| process.is_over) {
                let was_here =
                    its.is_some_and(|process| process.started >= self.scenario.clocks[clock].booted());
                node.buried(job, was_here, reads);
            }
        }
        node.wake(reads);
        self.note(|| format!("seat {seat} starts"));
        self.seats[seat].node = Some(node);
        self.seats[seat].frozen = None;
        self.perform(seat)
    }

    /// A frozen replica goes on: what has happened meanwhile reaches it in any order.
    pub(super) fn thaw(&mut self, seat: usize) -> Result<(), Violation> {
        let place = &mut self.seats[seat];
        if place.frozen.is_none_or(|until| until > self.now) {
            return Ok(());
        }
        place.frozen = None;
        let (life, mut held) = (place.life, std::mem::take(&mut place.held));
        self.dice.shuffle(&mut held);
        for what in held {
            self.happen_to((seat, life), what)?;
        }
        self.perform(seat)
    }
}
