//! Hints in the simulation: what `claim.lua` publishes, and how it gets lost or late, in place of
//! `store/redis/messages/hints.rs`.

use std::time::Duration;

use crate::job::{Outcome, Tick, Verdict};
use crate::lease::{Answer, EARLY_TOLERANCE, Era, Protection, Reply, Request, Rerun};
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

/// Returns the hint about a request that found this mark, if it decided its tick, or abandoned it.
pub(crate) fn hint_of(request: &Request, mark: Option<UtcMillis>, reply: &Reply) -> Option<Reply> {
    let claim = match request {
        Request::Claim(claim) => claim,
        Request::Abandon(_) if reply.mark < mark => return Some(reply.clone()),
        _ => return None,
    };
    if mark? >= claim.tick.instant() || !Protection::Mark.is_on() {
        return None;
    }
    let answer = match &reply.answer {
        Answer::Won { .. } => {
            let how = Some(Verdict::plain(Outcome::Running));
            Answer::Decided { by: Some(claim.caller.node.clone()), how }
        }
        // No hint is published of those: the mark was raised when the store was found to have forgotten.
        Answer::Consumed(verdict) if verdict.outcome == Outcome::Unknown => return None,
        Answer::Consumed(verdict) => Answer::Decided { by: None, how: Some(*verdict) },
        _ => return None,
    };
    Some(Reply { answer, ..reply.clone() })
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
        let reply = Reply { now: told, mark: Some(mark), lease: Some(frees_in), rerun, answer };
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
