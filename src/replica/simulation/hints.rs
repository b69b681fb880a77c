//! Hints in the simulation: what `claim.lua` publishes, how it gets lost and late, and what a replica makes of it: the
//! counterparts of `store/redis/hints.rs` and `replica/hints.rs`.

use crate::job::{Outcome, UtcMillis, Verdict};
use crate::lease::{Answer, Era, Protection, Reply, Request};
use crate::replica::hints::counts;
use crate::store::Hint;

use super::clock::Reads;
use super::network;
use super::node::Node;
use super::world::{Event, Happening, World};

/// A hint about a job, in a life of the store.
pub(super) type Hinted = (usize, Era, Reply);

/// What everybody is told of a request that found this mark: that it decided its tick, or gave it back, if it did.
pub(super) fn hint_of(request: &Request, mark: Option<UtcMillis>, reply: &Reply) -> Option<Reply> {
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
        // Those are told of in passing: the mark was raised when the store was found to have forgotten.
        Answer::Consumed(verdict) if verdict.outcome == Outcome::Unknown => return None,
        Answer::Consumed(verdict) => Answer::Decided { by: None, how: Some(*verdict) },
        _ => return None,
    };
    Some(Reply { answer, ..reply.clone() })
}

impl World {
    /// What the store has to tell everybody goes out: each by a way of its own, which is not the way of answers.
    pub(super) fn spread_hints(&mut self) {
        for hint in std::mem::take(&mut self.server.hints) {
            for seat in 0..self.scenario.replicas {
                let fate = network::fate(&mut self.dice, self.weather, self.seats[seat].cut);
                // What would not come back, or be refused, does not come at all.
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
    /// `Driver::take_hint`.
    pub(super) fn take_hint(&mut self, (job, era, reply): Hinted, reads: Reads) -> bool {
        self.reads = reads;
        let hint = Hint { job: self.jobs[job].name.clone(), era, reply };
        let Some(memory) = self.memory.as_mut().filter(|memory| counts(&hint, memory, reads.boot)) else {
            return false;
        };
        memory.hear(hint.reply.now);
        let now = self.now();
        let (is_news, _) = self.contests[job].overhear(&hint.reply, now);
        if is_news {
            self.look_at(job);
            self.attend_all();
        }
        is_news
    }
}
