//! A week of a cluster: jobs with every policy, three replicas and their store, outages of each and of all, a machine that
//! sleeps, clocks that are set, edits, pauses. Every tick of every job must have exactly one entry, and the entry must say
//! what happened.
//!
//! The other scenarios search ten minutes for what a network can do to safety; this one searches days for ticks that get
//! lost. So its time is scaled: while nothing happens, replicas leave out their heartbeats.

mod account;
mod account_of_tick;
mod jobs;
mod log;
mod troubles;
mod weeks;

use std::time::Duration;

use crate::lease::Request;
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::message::{Ask, Letter};
use crate::replica::simulation::world::rng::Dice;
use crate::replica::simulation::world::{Event, Mend, World};

use log::Log;
use troubles::Trouble;

/// How long it lasts; in the last hours nothing goes wrong.
const WEEK: Moment = Moment(7 * 24 * 3_600_000);
const QUIET: Moment = Moment(WEEK.0 - 3 * 3_600_000);

/// Replicas send every heartbeat for this long after anything happened to the cluster: longer than a lease, and what
/// follows it.
const LIVELY: Duration = Duration::from_secs(100);

/// So many of ten thousand requests about a job are performed, and their answers lost.
const LOST_ANSWERS: u64 = 20;

/// Something that happens in a week.
#[derive(Debug, Clone, Copy)]
pub(in crate::replica::simulation) enum WeekEvent {
    /// The next trouble of this kind is near: replicas send every heartbeat again.
    Announced(Trouble),
    /// The trouble begins.
    Begins(Trouble),
    /// A replica loads the newest file, while it runs or by a restart.
    Loads { seat: usize, by_restart: bool },
}

/// What only a week has.
pub(in crate::replica::simulation) struct Week {
    /// How often the file was edited.
    edits: usize,
    log: Log,
}

impl World {
    /// The week that this seed makes.
    fn of_week(seed: u64) -> Self {
        let mut world = Self::of(jobs::scenario(), Dice::seeded(seed));
        world.week = Some(Box::new(Week { edits: 0, log: Log::begun(&jobs::file(0)) }));
        for seat in 0..world.scenario.replicas {
            world.at(Duration::ZERO, Event::Mend(Mend::Restart(seat)));
        }
        for trouble in Trouble::ALL {
            let first = trouble.pause(&mut world.dice);
            world.at(first, Event::Week(WeekEvent::Announced(trouble)));
        }
        world
    }

    pub(in crate::replica::simulation) fn happen_in_week(
        &mut self,
        event: WeekEvent,
    ) -> Result<(), Violation> {
        let has_happened = match event {
            WeekEvent::Announced(trouble) => self.announce(trouble),
            WeekEvent::Begins(trouble) => self.begin_trouble(trouble),
            WeekEvent::Loads { seat, by_restart } => {
                self.load(seat, by_restart);
                true
            }
        };
        if has_happened { self.enliven() } else { Ok(()) }
    }

    /// Something is about to happen to the cluster, or has just happened: replicas leave out no heartbeat for a while.
    pub(in crate::replica::simulation) fn enliven(&mut self) -> Result<(), Violation> {
        for seat in 0..self.scenario.replicas {
            let reads = self.reads(seat);
            let place = &mut self.seats[seat];
            if let Some(node) = place.node.as_mut().filter(|_| place.frozen.is_none()) {
                node.leave_out_beats_from(reads, reads.boot.plus(LIVELY));
                self.perform(seat)?;
            }
        }
        Ok(())
    }

    /// Replicas that leave out their heartbeats are as alive as those that send them.
    pub(in crate::replica::simulation) fn take_in_left_out_beats(&mut self) {
        let now = self.store_reads().wall;
        for seat in self.seats.iter().filter(|seat| seat.is_well()) {
            let beat = seat.node.as_ref().and_then(|node| node.left_out_beat());
            beat.into_iter().for_each(|beat| self.server.refresh(beat, now));
        }
    }

    /// Whether the answer to a request gets lost.
    pub(in crate::replica::simulation) fn loses_answer(&mut self, letter: &Letter) -> bool {
        let (job, request) = match &letter.ask {
            Ask::Submit(job, request) => (job, &**request),
            Ask::Swap(job, decided) => (job, &decided.request),
            _ => return false,
        };
        let Some(week) = &mut self.week else { return false };
        if self.dice.between(0, 9_999) >= LOST_ANSWERS {
            return false;
        }
        if let Request::Claim(claim) = request {
            week.log.unheard.insert(claim.run);
        }
        week.log.lost.entry(*job).or_default().push(self.now);
        true
    }
}
