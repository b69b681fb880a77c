//! Requests besides the schedule: runs by hand, orders, pauses, and claims for ticks that were decided.

use std::time::Duration;

use crate::job::{Cause, Outcome, RunId};
use crate::lease::Record;
use crate::replica::simulation::world::message::Wish;
use crate::replica::simulation::world::process::Process;
use crate::replica::simulation::world::store::Service;
use crate::replica::simulation::world::{Event, Happening, World};

impl World {
    /// The next order of an operator.
    pub(crate) fn operate(&mut self) {
        if !self.is_troubled() {
            // Nothing runs of a job that stays paused.
            self.server.shelf.records.iter_mut().flatten().for_each(|record| record.paused = None);
            return;
        }
        let (job, seat) = (self.dice.below(self.scenario.count()), self.dice.below(self.scenario.replicas));
        match self.dice.between(0, 9) {
            // No run is ordered by hand before the replicas that remember more than an older state have reported it.
            1..=4 if self.now < self.told_by => {}
            0 => self.pause(job),
            1 | 2 => self.trigger(job),
            3 | 4 => self.wish(seat, job, Wish::Exec),
            _ => self.ask_again(seat, job),
        }
        let pause = self.dice.ms(50, 12_000);
        self.at(pause, Event::Operate);
    }

    fn wish(&mut self, seat: usize, job: usize, wish: Wish) {
        self.note(|| format!("seat {seat} is asked for j{job}: {wish:?}"));
        let name = format!("{wish:?}");
        self.tally.count(&format!("wish {}", name.split('(').next().unwrap_or_default()));
        let (life, what) = (self.seats[seat].life, Box::new(Happening::Wished(job, wish)));
        self.at(Duration::ZERO, Event::To { seat, life, what });
    }

    /// `pause`, and `resume` when its time is over, by the store's clock.
    fn pause(&mut self, job: usize) {
        let (now, during) = (self.store_reads().wall, self.dice.ms(500, 20_000));
        if let Some(record) =
            self.server.shelf.records[job].as_mut().filter(|_| self.server.service == Service::Up)
        {
            record.paused = Some(now.plus(during));
            self.tally.count("pause");
            self.note(|| format!("j{job} is paused for {during:?}"));
        }
    }

    /// `trigger`: every replica finds the order, and one of them obeys it.
    fn trigger(&mut self, job: usize) {
        let order = RunId::new();
        let is_up = self.server.service == Service::Up;
        let Some(record) = self.server.shelf.records[job].as_mut().filter(|_| is_up) else { return };
        record.order = Some(order);
        for seat in 0..self.scenario.replicas {
            self.wish(seat, job, Wish::Order(order));
        }
    }

    /// Claims a tick once more, which must be granted only as a rerun: most often one whose run was interrupted, or the
    /// last one that ran.
    fn ask_again(&mut self, seat: usize, job: usize) {
        let spec = &self.scenario.jobs[seat][job];
        let is_of_job = |run: &&Process| run.job == job && run.lease.cause != Cause::Manual;
        let ran = self.witness.runs.iter().rev().find(is_of_job).map(|run| run.lease.tick);
        let newest = spec.schedule.at_or_before(self.store_reads().wall);
        let is_cut_short =
            |record: &&Record| record.verdict.is_some_and(|l| l.outcome == Outcome::Interrupted);
        let record = self.server.shelf.records[job].as_ref();
        let cut_short = record.filter(is_cut_short).and_then(|record| record.tick);
        let asked = match self.dice.between(0, 3) {
            0 => newest,
            1 => ran.or(newest),
            _ => cut_short.or(ran),
        };
        if let Some(tick) = asked {
            self.wish(seat, job, Wish::Again(tick));
        }
    }
}
