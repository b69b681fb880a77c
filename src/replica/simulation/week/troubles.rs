//! What goes wrong in the week, and what operators do: each kind comes again and again, whatever else happens.

use std::rc::Rc;
use std::time::Duration;

use crate::job::JobName;
use crate::lease::{Act, Operate, Request};
use crate::replica::simulation::world::rng::Dice;

use super::jobs::file;
use super::life::Life;
use super::log::Span;
use super::world::{Event, QUIET, World};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// Replicas load an edited file within this long, and nothing else goes wrong meanwhile.
const EDIT: Duration = Duration::from_secs(60);

/// Edits are made only this long after everything else, so that their effect can be judged to the tick.
const CALM: Duration = Duration::from_secs(600);

/// As many edits of a hundred are loaded by a restart.
const BY_RESTART: u64 = 30;

/// Every kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The store is away; it may come back in another era.
    Outage,
    /// A replica is killed.
    Crash,
    /// All replicas are gone.
    AllDown,
    /// The machine of a replica sleeps.
    Sleep,
    /// The clock of a replica is wrong.
    ClockStep,
    /// jobs.toml is edited, and loaded by each replica in its turn.
    Edit,
    /// An operator pauses a job.
    Pause,
}

/// The end of a trouble.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mend {
    Store { begins_life: bool },
    Start(usize),
    Wake(usize),
    Clock(usize),
}

impl Trouble {
    pub(super) const ALL: [Self; 7] =
        [Self::Outage, Self::Crash, Self::AllDown, Self::Sleep, Self::ClockStep, Self::Edit, Self::Pause];

    /// From one to the next.
    pub(super) fn pause(self, dice: &mut Dice) -> Duration {
        let (first, last) = match self {
            Self::Outage => (3 * HOUR, 12 * HOUR),
            Self::Crash => (HOUR / 2, 5 * HOUR),
            Self::AllDown => (12 * HOUR, 36 * HOUR),
            Self::Sleep | Self::ClockStep => (2 * HOUR, 9 * HOUR),
            Self::Edit => (3 * HOUR, 9 * HOUR),
            Self::Pause => (5 * HOUR, 12 * HOUR),
        };
        dice.ms(first, last)
    }
}

impl World {
    pub(super) fn trouble(&mut self, trouble: Trouble) {
        if self.now >= QUIET {
            return;
        }
        let is_settled = self.now >= self.log.edits_end();
        let is_done = is_settled && self.inject(trouble);
        if is_done {
            self.log.count(format!("{trouble:?}"));
        }
        let pause = if is_done { trouble.pause(&mut self.dice) } else { Duration::from_secs(120) };
        self.after(pause, Event::Trouble(trouble));
    }

    fn inject(&mut self, trouble: Trouble) -> bool {
        let seat = self.dice.below(self.seats.len());
        let left = QUIET.since(self.now);
        let short = self.dice.ms_of_any_order(3 * HOUR).min(left);
        match trouble {
            Trouble::Outage => self.lose_store(short),
            Trouble::Crash => self.is_up(seat) && self.crash(seat, short),
            Trouble::AllDown => {
                let during = self.dice.ms(MINUTE, 5 * HOUR).min(left);
                (0..self.seats.len()).for_each(|seat| {
                    self.seats[seat].sleeps = false;
                    self.crash(seat, during);
                });
                true
            }
            Trouble::Sleep => self.is_up(seat) && self.sleep(seat, short),
            Trouble::ClockStep => self.is_up(seat) && self.step_clock(seat, short),
            Trouble::Edit => self.is_calm() && self.edit(),
            Trouble::Pause => {
                let during = self.dice.ms(10 * MINUTE, 4 * HOUR).min(left);
                !self.store.is_down && self.pause(during)
            }
        }
    }

    fn is_up(&self, seat: usize) -> bool {
        self.seats[seat].life.is_some() && !self.seats[seat].sleeps
    }

    fn is_calm(&self) -> bool {
        let all_up = (0..self.seats.len()).all(|seat| self.is_up(seat)) && !self.store.is_down;
        let absences = self.log.absences.values().flatten();
        let last = absences.chain(&self.log.outages).map(|span| span.to.plus(CALM)).max();
        all_up && last.is_none_or(|last| last <= self.now)
    }

    fn lose_store(&mut self, during: Duration) -> bool {
        if self.store.is_down {
            return false;
        }
        for seat in 0..self.seats.len() {
            self.with(seat, |world, life| world.beat(seat, life));
        }
        self.store.is_down = true;
        let begins_life = self.dice.percent(40);
        self.log.outages.push(Span { from: self.now, to: self.now.plus(during) });
        self.after(during, Event::Mend(Mend::Store { begins_life }));
        true
    }

    fn crash(&mut self, seat: usize, during: Duration) -> bool {
        self.seats[seat].life = None;
        self.orphan(seat);
        self.absent(seat, during);
        self.after(during, Event::Mend(Mend::Start(seat)));
        true
    }

    fn absent(&mut self, seat: usize, during: Duration) {
        let span = Span { from: self.now, to: self.now.plus(during) };
        self.log.absences.entry(seat).or_default().push(span);
    }

    fn sleep(&mut self, seat: usize, during: Duration) -> bool {
        self.with(seat, |world, life| world.beat(seat, life));
        self.seats[seat].sleeps = true;
        self.absent(seat, during);
        self.after(during, Event::Mend(Mend::Wake(seat)));
        true
    }

    fn step_clock(&mut self, seat: usize, during: Duration) -> bool {
        let by = i64::try_from(self.dice.between(MINUTE / 60, 10 * MINUTE)).expect("minutes");
        let by = if self.dice.percent(50) { by } else { -by };
        self.seats[seat].clock.step(by);
        self.absent(seat, during);
        self.after(during, Event::Mend(Mend::Clock(seat)));
        self.clock_stepped(seat);
        true
    }

    /// `Driver::clock_stepped`.
    fn clock_stepped(&mut self, seat: usize) {
        self.with(seat, |world, life| {
            world.beat(seat, life);
            life.alarms.clear();
            life.next_ticks.replan(life.now());
            world.look_at_all(seat, life);
        });
    }

    fn edit(&mut self) -> bool {
        self.edits += 1;
        self.jobs = file(self.edits);
        let by_restart = self.dice.percent(BY_RESTART);
        self.log.edited(&self.jobs, Span { from: self.now, to: self.now.plus(EDIT) });
        self.log.count(format!("edit by restart: {by_restart}"));
        for seat in 0..self.seats.len() {
            let after = self.dice.ms(0, EDIT.as_millis() as u64 / 2);
            self.after(after, Event::Load { seat, by_restart });
        }
        true
    }

    pub(super) fn load(&mut self, seat: usize, by_restart: bool) {
        if by_restart {
            self.crash(seat, Duration::from_secs(2));
        } else {
            self.with(seat, |world, life| world.reload(seat, life));
        }
    }

    fn pause(&mut self, during: Duration) -> bool {
        let jobs: Vec<JobName> = Rc::clone(&self.jobs).keys().cloned().collect();
        let job = jobs[self.dice.below(jobs.len())].clone();
        let act = Act::Pause { lasts: Some(during), why: None };
        let operate = Operate { expect: self.utc(), by: "ann".to_owned(), act };
        let before = self.store.records.get(&job).and_then(|record| record.paused);
        let asked = self.store.submit(&job, &Request::Operate(operate), self.now.utc(), &mut self.dice);
        let after = self.store.records.get(&job).and_then(|record| record.paused);
        if after != before {
            // The newer pause replaces the older.
            let spans = self.log.pauses.entry(job).or_default();
            let now = self.now;
            spans.iter_mut().for_each(|span| span.to = span.to.min(now));
            spans.push(Span { from: self.now, to: self.now.plus(during) });
        }
        asked.is_ok()
    }

    pub(super) fn mend(&mut self, mend: Mend) {
        match mend {
            Mend::Store { begins_life } => {
                self.store.is_down = false;
                for seat in 0..self.seats.len() {
                    // Their next heartbeat shows it.
                    let (soon, number) = (self.dice.ms(0, 1_000), self.seats[seat].lives);
                    self.after(soon, Event::Wake { seat, life: number });
                }
                if begins_life {
                    self.store.life += 1;
                    self.log.lives.push(self.now);
                    self.log.count("store began another life");
                }
            }
            Mend::Start(seat) => {
                if self.seats[seat].life.is_some() {
                    return;
                }
                self.seats[seat].lives += 1;
                let (now, wall, boot) = (self.now, self.seats[seat].clock.wall(self.now), self.boot(seat));
                let place = &self.seats[seat];
                let life = Life::start(&place.name, place.labels, &self.jobs, place.lives, now, wall, boot);
                let number = life.number;
                self.seats[seat].life = Some(life);
                self.after(Duration::ZERO, Event::Wake { seat, life: number });
            }
            Mend::Wake(seat) => {
                if std::mem::take(&mut self.seats[seat].sleeps) {
                    let now = self.now;
                    let life = self.seats[seat].life.as_mut();
                    life.into_iter().for_each(|life| (life.beaten, life.planned) = (now, None));
                    self.with(seat, |world, life| {
                        world.beat(seat, life);
                        world.look_at_all(seat, life);
                    });
                }
            }
            Mend::Clock(seat) => {
                let now = self.now;
                self.seats[seat].clock.correct(now);
                self.clock_stepped(seat);
            }
        }
    }
}
