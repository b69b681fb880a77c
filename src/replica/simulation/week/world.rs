//! The world of the week: what happens when, in true time, which is the store's.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::job::NodeName;
use crate::replica::simulation::world::clock::{Clock, Moment};
use crate::replica::simulation::world::rng::Dice;
use crate::time::{BootInstant, UtcMillis};

use super::course::Run;
use super::jobs::{Jobs, file};
use super::life::Life;
use super::log::Log;
use super::store::Store;
use super::troubles::{Mend, Trouble};

/// How long it lasts; in the last hours nothing goes wrong.
pub(super) const WEEK: Moment = Moment(7 * 24 * 3_600_000);
pub(super) const QUIET: Moment = Moment(WEEK.0 - 3 * 3_600_000);

/// Something that happens at its moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A replica looks at its clocks.
    Wake { seat: usize, life: u32 },
    /// A run's lock is to be checked.
    Attend(usize),
    /// An attempt of a run is over, or the run is, unless something has changed since this step.
    Step { run: usize, step: u32 },
    /// The end of a run is reported to the store.
    Tell(usize),
    /// A replica loads the newest file, while it lives or by a restart.
    Load { seat: usize, by_restart: bool },
    /// The next trouble of this kind.
    Trouble(Trouble),
    /// A trouble is over.
    Mend(Mend),
}

/// A place for a replica.
pub(super) struct Seat {
    pub(super) name: NodeName,
    pub(super) clock: Clock,
    /// Its labels, as `jobs.toml` or a flag gives them.
    pub(super) labels: &'static [&'static str],
    pub(super) life: Option<Life>,
    /// Counts processes.
    pub(super) lives: u32,
    /// Whether its machine sleeps.
    pub(super) sleeps: bool,
    /// When its heartbeat last reached the store.
    pub(super) heard: Moment,
    /// Runs of which an earlier process, or this one while its machine slept, could not report the end.
    pub(super) untold: Vec<usize>,
}

/// Everything.
pub(super) struct World {
    pub(super) now: Moment,
    pub(super) dice: Dice,
    queue: BTreeMap<(Moment, u64), Event>,
    numbers: u64,
    pub(super) seats: Vec<Seat>,
    pub(super) store: Store,
    pub(super) runs: Vec<Run>,
    /// The newest file, and how often it was edited.
    pub(super) jobs: Jobs,
    pub(super) edits: usize,
    pub(super) log: Log,
}

impl World {
    /// The week that this seed makes.
    pub(super) fn seeded(seed: u64) -> Self {
        let labels: [&[&str]; 3] = [&["gpu"], &[], &["gpu", "eu"]];
        let seat = |(labels, name): (&'static [&'static str], &str)| Seat {
            name: NodeName::parse(name).expect("a name"),
            clock: Clock::new(0, false),
            labels,
            life: None,
            lives: 0,
            sleeps: false,
            heard: Moment(0),
            untold: Vec::new(),
        };
        let mut world = Self {
            now: Moment(0),
            dice: Dice::seeded(seed),
            queue: BTreeMap::new(),
            numbers: 0,
            seats: labels.into_iter().zip(["a", "b", "c"]).map(seat).collect(),
            store: Store::default(),
            runs: Vec::new(),
            jobs: file(0),
            edits: 0,
            log: Log::begun(&file(0)),
        };
        for seat in 0..world.seats.len() {
            world.at(Moment(1), Event::Mend(Mend::Start(seat)));
        }
        for trouble in Trouble::ALL {
            let first = trouble.pause(&mut world.dice);
            world.after(first, Event::Trouble(trouble));
        }
        world
    }

    pub(super) fn at(&mut self, moment: Moment, event: Event) {
        self.numbers += 1;
        self.queue.insert((moment.max(self.now), self.numbers), event);
    }

    pub(super) fn after(&mut self, pause: Duration, event: Event) {
        self.at(self.now.plus(pause), event);
    }

    pub(super) fn utc(&self) -> UtcMillis {
        self.now.utc()
    }

    pub(super) fn boot(&self, seat: usize) -> BootInstant {
        self.seats[seat].clock.boot(self.now)
    }

    /// Lets the week pass.
    pub(super) fn run(&mut self) {
        self.run_until(WEEK);
    }

    /// Lets time pass until this moment.
    pub(super) fn run_until(&mut self, end: Moment) {
        while let Some(next) = self.queue.first_entry().filter(|next| next.key().0 <= end) {
            self.now = next.key().0;
            match next.remove() {
                Event::Wake { seat, life } => self.wake(seat, life),
                Event::Attend(run) => self.attend(run),
                Event::Step { run, step } => self.step(run, step),
                Event::Tell(run) => self.tell(run),
                Event::Load { seat, by_restart } => self.load(seat, by_restart),
                Event::Trouble(trouble) => self.trouble(trouble),
                Event::Mend(mend) => self.mend(mend),
            }
        }
        self.now = end;
    }

    /// Does something to the replica of a seat, if there is one that moves.
    pub(super) fn with(&mut self, seat: usize, what: impl FnOnce(&mut Self, &mut Life)) {
        if self.seats[seat].sleeps {
            return;
        }
        let Some(mut life) = self.seats[seat].life.take() else { return };
        life.boot = self.boot(seat);
        life.wall = self.seats[seat].clock.wall(self.now);
        what(self, &mut life);
        let at = self.now.plus(life.idle_for());
        if life.planned.is_none_or(|planned| planned <= self.now || planned > at) {
            life.planned = Some(at);
            self.at(at, Event::Wake { seat, life: life.number });
        }
        self.seats[seat].life = Some(life);
    }
}
