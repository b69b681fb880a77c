//! Hints in the simulation: how they get lost or late, in place of the channels of a server.

use std::time::Duration;

use crate::job::Tick;
use crate::lease::{Answer, EARLY_TOLERANCE, Era, Reply, Rerun};
use crate::replica::core::CoreInput;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::{Event, Happening, World, network};
use crate::store::Hint;
use crate::time::UtcMillis;

use super::node::Node;

/// A hint about a job, in an era of the store.
#[derive(Debug, Clone)]
pub(crate) struct Hinted {
    pub(crate) job: usize,
    pub(crate) era: Era,
    pub(crate) reply: Reply,
}

impl World {
    /// For a while, a client publishes untrue hints. That does not count as trouble: it must have no effect.
    pub(crate) fn begin_to_lie(&mut self) -> bool {
        if self.now < self.lies {
            return false;
        }
        let during = self.dice.ms(5_000, 30_000);
        self.note(|| format!("somebody lies for {during:?}"));
        self.lies = self.now.plus(during);
        self.at(Duration::ZERO, Event::Lie);
        true
    }

    /// Publishes one untrue hint, and schedules the next.
    pub(crate) fn lie(&mut self) {
        if self.now >= self.lies {
            return;
        }
        let job = self.dice.below(self.scenario.count());
        let now = self.store_reads().wall;
        let schedule = &self.scenario.spec(job).schedule;
        let next = schedule.next_after(now).map_or(now, Tick::instant);
        let ahead = now.plus(EARLY_TOLERANCE);
        let mark = match self.dice.below(6) {
            0 => UtcMillis(i64::MAX),
            1 => next,
            2 => next.minus(Duration::from_millis(1)),
            3 => self.server.shelf.records[job]
                .as_ref()
                .map_or(now, |record| record.mark.minus(Duration::from_millis(1))),
            4 => now,
            _ => ahead,
        };
        let answer =
            if self.dice.percent(70) { Answer::Decided { by: None, how: None } } else { Answer::Abandoned };
        let frees_in = self.dice.ms_of_any_order(1_000_000_000);
        let by = Some(self.scenario.names[0].clone());
        let rerun = Rerun { tick: Tick(mark), by, goes_on: self.dice.percent(50), frees_in };
        let rerun = Some(rerun).filter(|_| self.dice.percent(50));
        let told = if self.dice.percent(50) { now } else { now.plus(frees_in) };
        let reply =
            Reply { now: told, mark: Some(mark), lease: Some(frees_in), rerun, lag: Duration::ZERO, answer };
        let era = self.server.moments(self.store_reads()).era;
        self.server.hints.push(Hinted { job, era, reply });
        self.tally.count("lie");
        self.spread_hints();
        let pause = self.dice.ms(1, 400);
        self.at(pause, Event::Lie);
    }

    /// Sends the store's hints: each by a way of its own, which is not the way of answers.
    pub(crate) fn spread_hints(&mut self) {
        for hint in std::mem::take(&mut self.server.hints) {
            for seat in 0..self.scenario.replicas {
                let fate = network::fate(&mut self.dice, self.weather, self.seats[seat].cut);
                // A hint arrives only where an answer would come back.
                let Some(back) = fate.back else {
                    self.tally.count("hint lost");
                    continue;
                };
                for after in fate.arrivals {
                    let (life, what) = (self.seats[seat].life, Box::new(Happening::Overheard(hint.clone())));
                    self.at(after + back, Event::To { seat, life, what });
                }
            }
        }
    }
}

impl Node {
    /// A hint has arrived. Returns whether it counts: one of another era does not.
    pub(crate) fn take_hint(&mut self, hint: Hinted, reads: Reads) -> bool {
        self.reads = reads;
        let Hinted { job, era, reply } = hint;
        let counts = self.store_clock.is_in(&era);
        self.tell_core(CoreInput::Hint(Hint { job: self.jobs[job].name.clone(), era, reply }));
        self.take_in_all();
        counts
    }
}
