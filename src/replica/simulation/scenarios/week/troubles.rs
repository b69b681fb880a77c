//! What goes wrong in the week, and what operators do: each kind comes again and again, whatever else happens.

use std::time::Duration;

use crate::lease::Act;
use crate::replica::simulation::world::message::Order;
use crate::replica::simulation::world::network::Cut;
use crate::replica::simulation::world::process::Guard;
use crate::replica::simulation::world::rng::Dice;
use crate::replica::simulation::world::store::Service;
use crate::replica::simulation::world::{Event, Mend, World};

use super::jobs::file;
use super::log::{Log, Span};
use super::{QUIET, WeekEvent};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// A trouble begins this long after replicas send every heartbeat again.
const NOTICE: Duration = Duration::from_secs(3);

/// One that may not begin now is tried again after this long.
const TRY_AGAIN: Duration = Duration::from_secs(120);

/// Replicas load an edited file within this long, and nothing else goes wrong meanwhile.
const EDIT: Duration = Duration::from_secs(60);

/// Edits are made only this long after everything else, so that their effect can be judged to the tick.
const CALM: Duration = Duration::from_secs(600);

/// As many edits of a hundred are loaded by a restart.
const BY_RESTART: u64 = 30;

/// Every kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::replica::simulation) enum Trouble {
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
    fn log(&self) -> &Log {
        &self.week.as_ref().expect("only a week has troubles").log
    }

    fn log_mut(&mut self) -> &mut Log {
        &mut self.week.as_mut().expect("only a week has troubles").log
    }

    /// Announces a trouble, or waits until it may begin. Returns whether it will.
    pub(super) fn announce(&mut self, trouble: Trouble) -> bool {
        if self.now >= QUIET {
            return false;
        }
        let is_settled = self.now >= self.log().edits_end() && (trouble != Trouble::Edit || self.is_calm());
        let (after, next) = if is_settled {
            (NOTICE, WeekEvent::Begins(trouble))
        } else {
            (TRY_AGAIN, WeekEvent::Announced(trouble))
        };
        self.at(after, Event::Week(next));
        is_settled
    }

    /// Begins a trouble, if it may begin now. Returns whether it does.
    pub(super) fn begin_trouble(&mut self, trouble: Trouble) -> bool {
        let is_begun = self.make_trouble(trouble);
        if is_begun {
            self.tally.count(&format!("{trouble:?}"));
        }
        let pause = if is_begun { trouble.pause(&mut self.dice) } else { TRY_AGAIN };
        self.at(pause, Event::Week(WeekEvent::Announced(trouble)));
        is_begun
    }

    fn make_trouble(&mut self, trouble: Trouble) -> bool {
        if self.now < self.log().edits_end() {
            return false;
        }
        let seat = self.dice.below(self.scenario.replicas);
        let left = QUIET.since(self.now);
        let short = self.dice.ms_of_any_order(3 * HOUR).min(left);
        match trouble {
            Trouble::Outage => self.lose_store(short),
            Trouble::AllDown => {
                let during = self.dice.ms(MINUTE, 5 * HOUR).min(left);
                let up: Vec<usize> = (0..self.scenario.replicas).filter(|seat| self.is_up(*seat)).collect();
                up.into_iter().for_each(|seat| self.kill_replica(seat, during));
                true
            }
            Trouble::Edit => self.is_calm() && self.edit(),
            Trouble::Pause => {
                let during = self.dice.ms(10 * MINUTE, 4 * HOUR).min(left);
                self.server.service == Service::Up && self.pause(during)
            }
            _ if !self.is_up(seat) => false,
            Trouble::Crash => {
                self.kill_replica(seat, short);
                true
            }
            Trouble::Sleep => self.let_sleep(seat, short),
            Trouble::ClockStep => self.set_clock_wrong(seat, short),
        }
    }

    fn is_calm(&self) -> bool {
        let all_up = (0..self.scenario.replicas).all(|seat| self.is_up(seat));
        let is_up = self.server.service == Service::Up;
        let log = self.log();
        let absences = log.absences.values().flatten();
        let last = absences.chain(&log.outages).map(|span| span.to.plus(CALM)).max();
        all_up && is_up && last.is_none_or(|last| last <= self.now)
    }

    fn span_of(&self, during: Duration) -> Span {
        Span { from: self.now, to: self.now.plus(during) }
    }

    /// The store refuses connections, or no message passes.
    fn lose_store(&mut self, during: Duration) -> bool {
        if self.server.service != Service::Up || self.seats.iter().any(|seat| seat.cut.is_some()) {
            return false;
        }
        let span = self.span_of(during);
        self.log_mut().outages.push(span);
        if self.dice.percent(50) {
            for seat in 0..self.scenario.replicas {
                self.seats[seat].cut = Some(Cut::Silent);
                self.at(during, Event::Mend(Mend::Connect(seat)));
            }
            return true;
        }
        self.server.service = Service::Down;
        if self.dice.percent(80) {
            self.server.begin_life(self.server.shelf.clone(), self.now.utc());
            self.tally.count("store began another life");
            self.log_mut().lives.extend([span.from, span.to]);
        }
        self.at(during, Event::Mend(Mend::Service));
        true
    }

    fn kill_replica(&mut self, seat: usize, during: Duration) {
        let span = self.span_of(during);
        self.log_mut().absent(seat, span);
        self.start_again(seat, during);
    }

    /// A machine sleeps: everything on it stands still, except for its clocks. Where it sleeps through the deadline of a
    /// run, nothing is awake to stop that, and the promise does not cover it.
    fn let_sleep(&mut self, seat: usize, during: Duration) -> bool {
        let span = self.span_of(during);
        self.log_mut().absent(seat, span);
        self.freeze_for(seat, during);
        let its = self.witness.alive().filter(|(_, run)| run.seat == seat).map(|(at, _)| at);
        let its: Vec<usize> = its.collect();
        for run in its {
            let process = &self.witness.runs[run];
            let outsleeps = process.outsleeps_deadline || self.deadline_of(process) <= span.to;
            let process = &mut self.witness.runs[run];
            (process.guard, process.outsleeps_deadline) = (Guard::Frozen(span.to), outsleeps);
            self.suspend_run(run, during);
            self.at(during, Event::Mend(Mend::GuardThaw(run)));
        }
        true
    }

    fn set_clock_wrong(&mut self, seat: usize, during: Duration) -> bool {
        let by = i64::try_from(self.dice.between(MINUTE / 60, 10 * MINUTE)).expect("minutes");
        let by = if self.dice.percent(50) { by } else { -by };
        let (span, clock) = (self.span_of(during), self.scenario.clock_of(seat));
        self.log_mut().absent(seat, span);
        self.set_clock(clock, Some(by));
        self.at(during, Event::Mend(Mend::Clock(clock)));
        true
    }

    fn edit(&mut self) -> bool {
        let Some(week) = &mut self.week else { return false };
        week.edits += 1;
        let during = Span { from: self.now, to: self.now.plus(EDIT) };
        week.log.edited(&file(week.edits), during);
        let by_restart = self.dice.percent(BY_RESTART);
        self.tally.count(&format!("edit by restart: {by_restart}"));
        for seat in 0..self.scenario.replicas {
            let after = self.dice.ms(0, EDIT.as_millis() as u64 / 2);
            self.at(after, Event::Week(WeekEvent::Loads { seat, by_restart }));
        }
        true
    }

    pub(super) fn load(&mut self, seat: usize, by_restart: bool) {
        let edits = self.week.as_ref().map_or(0, |week| week.edits);
        let file_of_seat = &mut self.scenario.files[seat];
        file_of_seat.jobs = file(edits);
        file_of_seat.hash = format!("edit {edits}");
        if by_restart {
            self.kill_replica(seat, Duration::from_secs(2));
        } else {
            self.order(seat, Order::Reload(seat));
        }
    }

    fn pause(&mut self, during: Duration) -> bool {
        let job = self.dice.below(self.scenario.count());
        if self.server.shelf.records[job].is_none() {
            return false;
        }
        self.act(job, Act::Pause { lasts: Some(during), why: None });
        // The newer pause replaces the older.
        let span = self.span_of(during);
        let pauses = self.log_mut().pauses.entry(job).or_default();
        pauses.iter_mut().for_each(|earlier| earlier.to = earlier.to.min(span.from));
        pauses.push(span);
        true
    }
}
