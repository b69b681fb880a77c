//! Losses of data, and faults of whole machines, as far as the promise goes: some replica within reach remembers what
//! the store forgot, and no run is left to a replica and a guard that are both frozen.

use std::time::Duration;

use crate::job::{Cause, RunId};
use crate::lease::{Memory, Record};
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::stand_ins::node::Node;
use crate::replica::simulation::world::machine::Seat;
use crate::replica::simulation::world::network::Weather;
use crate::replica::simulation::world::process::Guard;
use crate::replica::simulation::world::slow_line::SlowLine;
use crate::replica::simulation::world::store::{Service, Shelf};
use crate::replica::simulation::world::{Event, Mend, World};
use crate::time::UtcMillis;

use super::fault::Fault;

/// The longest time from one tick to the next.
const LONGEST_PERIOD: Duration = Duration::from_secs(61);

/// Replicas that remember more have reported it to a store that was rolled back within this long: a heartbeat or two.
const TOLD_WITHIN: Duration = Duration::from_millis(2_500);

/// A replica with a heartbeat each second has had an answer of the store within this long.
const JUST_HEARD: Duration = Duration::from_millis(1_200);

impl World {
    /// Makes the store forget, unless a replica that remembers is hindered.
    pub(crate) fn forget(&mut self, fault: Fault) -> bool {
        if self.now < self.delicate || !self.may_forget(fault) {
            return false;
        }
        let alive: Vec<usize> = self.witness.alive().map(|(_, run)| run.job).collect();
        let is_busy = fault.may_meet_newcomers() && !alive.is_empty() && self.dice.percent(70);
        let job = if is_busy { self.dice.pick(&alive) } else { self.dice.below(self.scenario.count()) };
        let Some(shelf) = self.what_is_left(fault, job) else { return false };
        // What is forgotten twice before a tick comes may have no entry: no replica knows from where on it was
        // forgotten.
        let jobs = 0..self.scenario.count();
        if jobs.clone().any(|job| self.server.owes_entries(job))
            || !jobs.into_iter().all(|job| self.is_remembered(job, fault, &shelf))
        {
            return false;
        }
        self.note(|| format!("store forgets: {fault:?}, j{job}"));
        match fault {
            Fault::Failover => self.server.begin_life(shelf, self.now.utc()),
            _ => self.server.replace(shelf, self.now.utc()),
        }
        self.let_them_tell(fault);
        if fault.may_meet_newcomers() {
            self.bring_newcomers(job);
        }
        true
    }

    /// Leaves time for the replicas that remember: they report within a heartbeat or two, and then a lease passes
    /// before anything is granted. The loss of a single record, or a rollback, is noticed with the next request about
    /// the job: not before the store's clock is beyond what was decided.
    fn let_them_tell(&mut self, fault: Fault) {
        let asked = if fault == Fault::Deleted { self.decided_ahead() } else { Duration::ZERO };
        let quiet = asked + self.scenario.longest() + Duration::from_secs(5);
        self.delicate = self.now.plus(quiet);
        if self.server.memory == Memory::Durable && fault != Fault::Rollback {
            self.rows_unknown = self.now.plus(LONGEST_PERIOD * 2);
        }
        let is_missed_late = fault == Fault::Rollback || fault.may_meet_newcomers();
        let next_tick = if is_missed_late { LONGEST_PERIOD } else { Duration::ZERO };
        self.trouble(quiet + next_tick + Duration::from_secs(10));
        if fault == Fault::Rollback {
            self.told_by = self.now.plus(TOLD_WITHIN);
        }
    }

    /// Whether every replica that may be the only one to remember is within reach: all replicas; or, where only keys
    /// are deleted or all replicas know what is rolled back, those that are up.
    fn may_forget(&self, fault: Fault) -> bool {
        let is_fair = self.weather == Weather::Fair && self.server.service == Service::Up;
        let are_well = match fault {
            Fault::Emptied | Fault::Deleted | Fault::Failover => {
                self.seats[..self.scenario.replicas].iter().all(Seat::is_well)
            }
            _ => self.seats.iter().any(Seat::is_well),
        };
        let is_ahead = self.store_reads().wall > self.now.utc().plus(Duration::from_secs(1));
        // No replica notices the loss before the next request about the job. One that starts once the clock is right,
        // and claims first, knows neither of the loss nor of the clock. Of what a clock that is ahead decided, replicas
        // know one row of ticks that ran, and not those before a gap: where the record is lost as well, these may run
        // again when they come. That is the price in decision 0042, which shows most where store and replicas have one
        // clock.
        let is_one_clock = self.server.memory == Memory::Durable;
        let is_unseen = is_ahead && (fault == Fault::Deleted || fault.may_meet_newcomers() || is_one_clock);
        is_fair && are_well && !is_unseen && self.all_have_just_heard()
    }

    /// Brings newcomers that know nothing of deleted keys: a guest, or a replica that just starts.
    fn bring_newcomers(&mut self, job: usize) {
        if self.menu.contains(&Fault::Guest) && self.dice.percent(60) {
            self.invite(Some(job));
        }
        let seat = self.dice.below(self.scenario.replicas);
        let is_idle = self.witness.alive().all(|(_, run)| run.seat != seat);
        if is_idle && self.seats[seat].is_well() && self.others_know(seat) && self.dice.percent(50) {
            let soon = self.dice.ms(0, 3_000);
            self.start_again(seat, soon);
        }
    }

    /// Returns how far ahead of the store's clock ticks are decided: by that clock, before it was set back.
    fn decided_ahead(&self) -> Duration {
        let nodes = || self.seats.iter().filter_map(|seat| seat.node.as_ref());
        let jobs = 0..self.scenario.count();
        let known = nodes().flat_map(|node| jobs.clone().filter_map(|job| node.known_mark(job)));
        known.max().unwrap_or_default().since(self.store_reads().wall)
    }

    /// Whether other replicas know everything as decided that this one does.
    fn others_know(&self, seat: usize) -> bool {
        let mark = |node: &Node, job: usize| node.known_mark(job);
        let others = || (0..self.scenario.replicas).filter(|other| *other != seat);
        let nodes = || others().map(|other| &self.seats[other]).filter(|other| other.is_well());
        let known = |job| nodes().filter_map(|other| mark(other.node.as_ref()?, job)).max();
        let own = |job| self.seats[seat].node.as_ref().and_then(|node| mark(node, job));
        (0..self.scenario.count()).all(|job| known(job) >= own(job))
    }

    /// Whether enough is remembered. Some replica knows the mark; some replica knows the run in progress; and all know
    /// that the store's clock was ahead, if it was when the newest fence was granted. What is rolled back, all have to
    /// know, because one that does not may claim before any other has reported it, with a heartbeat that the older
    /// state does not have; and what the older state shows as running must not be over before.
    fn is_remembered(&self, job: usize, fault: Fault, left: &Shelf) -> bool {
        let Some(record) = &self.server.shelf.records[job] else { return true };
        let is_left = |left: &Record| left.fence == record.fence && left.mark == record.mark;
        let nodes = || self.seats.iter().filter(|seat| seat.is_well()).filter_map(|seat| seat.node.as_ref());
        let newest = UtcMillis(record.fence.0).max(record.mark);
        let is_past = newest <= self.store_reads().wall
            || left.records[job].as_ref().is_some_and(is_left)
            || nodes().all(|node| node.heard() >= newest);
        let knows = |node: &Node| node.known_mark(job) >= Some(record.mark);
        let was_told = |node: &Node| node.answered_mark(job) >= Some(record.mark);
        let is_known = match fault {
            Fault::Rollback => {
                // A run that the older state shows as running, and that is over, is recorded again by its replica.
                let shown = left.records[job].as_ref().filter(|older| older.is_running());
                let is_noted = |run: RunId| nodes().any(|node| node.has_noted(run));
                self.server.shelf.has_newer_beat_than(left)
                    && shown.and_then(|older| older.run).is_none_or(is_noted)
                    && nodes().all(was_told)
                    && self.outlasts_telling(job, left.records[job].as_ref())
            }
            _ => nodes().any(knows),
        };
        let mut going_on = self.witness.holders().filter(|run| run.job == job);
        let is_kept = |run: RunId| nodes().any(|node| node.holds(run));
        is_past && is_known && going_on.all(|run| is_kept(run.lease.run))
    }

    /// Whether an older record grants no lock of the job before the replicas that remember more have reported it. That
    /// is so where it lacks a tick that all replicas know, or where the lock in it lasts longer than the reporting
    /// takes.
    fn outlasts_telling(&self, job: usize, older: Option<&Record>) -> bool {
        let (Some(now), Some(older)) = (self.server.shelf.records[job].as_ref(), older) else { return true };
        let lease_now = self.server.moments(self.store_reads()).lease_now;
        let lasts = older.locked_until.since(lease_now) > TOLD_WITHIN;
        let going_on = || self.witness.holders().filter(|run| run.job == job);
        let is_known = going_on().all(|run| older.is_running() && older.run == Some(run.lease.run));
        older.mark < now.mark && going_on().all(|run| run.lease.cause != Cause::Manual)
            || is_known && (lasts || !older.is_running())
    }

    fn what_is_left(&mut self, fault: Fault, job: usize) -> Option<Shelf> {
        let now = self.server.shelf.clone();
        match fault {
            Fault::Emptied => Some(self.server.empty_shelf()),
            Fault::Failover | Fault::Rollback => {
                let pick = self.dice.below(16);
                self.server.copy_at(pick).cloned()
            }
            Fault::KnownLost | Fault::NodesLost => Some(now.without(None, fault)),
            _ => Some(now.without(Some(job), fault)),
        }
    }

    fn all_have_just_heard(&self) -> bool {
        let has = |seat: &Seat| seat.heard.is_some_and(|at| self.now.since(at) <= JUST_HEARD);
        self.seats.iter().filter(|seat| seat.node.is_some()).all(|seat| seat.is_well() && has(seat))
    }

    /// Suspends a machine: everything on it stands still, except for its clocks.
    pub(super) fn suspend(&mut self, seat: usize) -> bool {
        let clock = self.scenario.clock_of(seat);
        let is_there = |seat: &usize| *seat < self.scenario.replicas || self.seats[*seat].node.is_some();
        let all = (0..self.seats.len()).filter(is_there);
        let seats: Vec<usize> = all.filter(|seat| self.scenario.clock_of(*seat) == clock).collect();
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
        runs.into_iter().for_each(|run| self.suspend_run(run, during));
        true
    }

    /// Lets a run stand still with its machine for so long.
    pub(crate) fn suspend_run(&mut self, run: usize, during: Duration) {
        // The command loses the time, too.
        self.witness.runs[run].ends = self.witness.runs[run].ends.plus(during);
        // The clock that is never slewed (`CLOCK_MONOTONIC_RAW`) does not count the time.
        self.witness.runs[run].told.1 += during;
        self.expect_end(run);
    }

    /// Reboots the machine of an embedded store: no process on it survives, and nothing is forgotten.
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
        self.server.begin_life(self.server.shelf.clone(), self.now.utc());
        self.trouble(self.scenario.longest() + Duration::from_secs(10));
        for seat in 0..self.scenario.replicas {
            let after = self.dice.ms(0, 3_000);
            self.at(after, Event::Mend(Mend::Restart(seat)));
        }
        true
    }

    /// Starts a replica, with what its last process left on disk.
    pub(super) fn start_replica(&mut self, seat: usize) -> Result<(), Violation> {
        if self.seats[seat].node.is_some() {
            return Ok(());
        }
        let reads = self.reads(seat);
        let is_long = self.now < self.long_until;
        let file = if is_long { &self.scenario.long_file } else { &self.scenario.files[seat] };
        let disk = std::mem::take(&mut self.seats[seat].disk);
        let line = self.slow.as_ref().map(SlowLine::end).unwrap_or_default();
        let mut node = Node::replica(&self.scenario.names[seat], file, disk, line, reads);
        node.set_orphans(self.former_runs(seat, &node));
        self.note(|| format!("seat {seat} starts"));
        node.begin(reads);
        self.seats[seat].node = Some(node);
        self.seats[seat].frozen = None;
        self.perform(seat)
    }

    /// Thaws a replica: what has happened meanwhile reaches it in any order.
    pub(super) fn thaw(&mut self, seat: usize) -> Result<(), Violation> {
        let place = &mut self.seats[seat];
        if place.frozen.is_none_or(|until| until > self.now) {
            return Ok(());
        }
        place.frozen = None;
        let (life, mut held) = (place.life, std::mem::take(&mut place.held));
        self.dice.shuffle(&mut held);
        for what in held {
            self.happen_to(seat, life, what)?;
        }
        self.perform(seat)
    }
}
