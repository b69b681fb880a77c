//! Requests besides the schedule: an operator's, by the shipped requests, and claims for ticks that were decided.

use std::time::Duration;

use crate::job::{Cause, NodeName, Outcome, RunId};
use crate::lease::{Act, Operate, Record, Request};
use crate::replica::simulation::world::message::{Ask, Order};
use crate::replica::simulation::world::process::Process;
use crate::replica::simulation::world::store::Service;
use crate::replica::simulation::world::{Event, Happening, World};

impl World {
    /// The next order of an operator.
    pub(crate) fn operate(&mut self) {
        if !self.is_troubled() {
            // Nothing runs of a job that stays paused: by a clock that was ahead, perhaps for years.
            // No other job has a notice: it would wake whoever waits in vain.
            let now = self.store_reads().wall;
            let is_paused = |record: &Record| record.paused.is_some_and(|until| until > now);
            for job in 0..self.scenario.count() {
                if self.server.shelf.records[job].as_ref().is_some_and(is_paused) {
                    self.act(job, Act::Resume);
                }
            }
            return self.at(Duration::from_secs(10), Event::Operate);
        }
        let (job, seat) = (self.dice.below(self.scenario.count()), self.dice.below(self.scenario.replicas));
        match self.dice.between(0, 9) {
            // No run is ordered by hand before the replicas that remember more than an older state have reported it.
            1..=3 if self.now < self.told_by => {}
            0 => {
                let lasts = Some(self.dice.ms(500, 20_000));
                self.act(job, Act::Pause { lasts, why: None });
            }
            1..=3 => self.act(job, Act::Trigger { order: RunId::new(), tick: None }),
            4 => self.act(job, Act::Kill { run: None }),
            _ => self.claim_tick_again(seat, job),
        }
        let pause = self.dice.ms(50, 12_000);
        self.at(pause, Event::Operate);
    }

    pub(crate) fn order(&mut self, seat: usize, order: Order) {
        self.note(|| format!("order to seat {seat}: {order:?}"));
        let (life, what) = (self.seats[seat].life, Box::new(Happening::Ordered(order)));
        self.at(Duration::ZERO, Event::To { seat, life, what });
    }

    /// An operator's request reaches the store, which makes replicas read the record.
    pub(crate) fn act(&mut self, job: usize, act: Act) {
        if self.server.service != Service::Up || self.server.shelf.records[job].is_none() {
            return;
        }
        let name = format!("{act:?}");
        self.note(|| format!("operator: j{job} {name}"));
        let word = name.split([' ', '{']).next().unwrap_or_default().to_lowercase();
        self.tally.count(&format!("operator {word}"));
        let reads = self.store_reads();
        let request = Request::Operate(Operate { expect: reads.wall, by: "operator".to_owned(), act });
        let by = NodeName::parse("operator").expect("a name");
        let holder = self.server.holder(job);
        self.server.answer(&by, &Ask::Submit(job, Box::new(request)), reads, &mut self.tally);
        self.server.announce(job, reads.wall);
        debug_assert_eq!(holder, self.server.holder(job), "no act of these changes the holder");
    }

    /// Claims a tick once more, which must be granted only as a rerun: most often one whose run was interrupted, or the
    /// last one that ran.
    fn claim_tick_again(&mut self, seat: usize, job: usize) {
        let is_of_job = |run: &&Process| run.job == job && run.lease.cause != Cause::Manual;
        let ran = self.witness.runs.iter().rev().find(is_of_job).map(|run| run.lease.tick);
        let newest = self.scenario.spec(job).schedule.at_or_before(self.store_reads().wall);
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
            self.tally.count("tick claimed again");
            self.order(seat, Order::ClaimAgain(job, tick));
        }
    }
}
