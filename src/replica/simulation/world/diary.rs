//! Writes down what happened, for the developer.

use crate::lease::Record;
use crate::replica::simulation::world::World;
use crate::time::UtcMillis;

use super::clock::Moment;
use super::message::{Ask, Letter, Told};

impl World {
    /// Writes into the diary, if there is one.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(diary) = &mut self.diary {
            diary.push(format!("{:>9.3} {}", now.0 as f64 / 1000.0, what()));
        }
    }

    /// Writes down a request of a replica, and its answer.
    pub(super) fn note_exchange(&mut self, seat: usize, letter: &Letter, told: &Told) {
        let (job, request, reply) = match (&letter.ask, told) {
            (Ask::Submit(job, request), Told::Reply(reply)) => (job, &**request, &**reply),
            (Ask::Swap(job, decided), Told::Swapped(Some(_))) => {
                (job, &decided.request, &decided.swap.decision.reply)
            }
            _ => return,
        };
        if self.diary.is_some() {
            let record = self.server.shelf.records[*job].clone();
            self.note(|| {
                let request = format!("{request:?}");
                let what = request.split('(').next().unwrap_or_default();
                let record = record.map(|record| shown(&record)).unwrap_or_default();
                format!("j{job} seat {seat} {what} -> {:?} [{record}]", reply.answer)
            });
        }
    }
}

/// A record in few words.
fn shown(record: &Record) -> String {
    let ago = |at: Option<UtcMillis>| at.map(|at| at.0 - Moment(0).utc().0);
    let tick = record.tick.map(|tick| tick.instant());
    format!(
        "{:?} tick {:?} tries {} until {:?} mark {:?} lost {:?} started {:?} ended {:?} last {:?} lease {:?} leaps {} {}",
        record.phase,
        ago(tick),
        record.tries,
        ago(Some(UtcMillis(record.locked_until.0))),
        ago(Some(record.mark)),
        ago(record.lost_after),
        ago(record.started),
        ago(record.ended),
        record.verdict.map(|last| last.to_string()),
        record.lease,
        record.leaps,
        record.era.0,
    )
}
