//! The world of a simulation: one queue of what happens when, in true time.

pub(super) mod clock;
mod diary;
mod former_runs;
pub(super) mod machine;
pub(super) mod message;
pub(super) mod network;
pub(super) mod process;
pub(super) mod rng;
pub(super) mod scenario;
pub(super) mod slow_line;
pub(super) mod store;

use std::collections::BTreeMap;
use std::time::Duration;

use clock::{Moment, Reads};
use machine::Seat;
use message::{Answered, Ask, Letter, Order};
use network::Weather;
use rng::Dice;
use scenario::Scenario;
use slow_line::SlowLine;
use store::{Server, Service};

use crate::job::{RunId, Verdict};
use crate::lease::Memory;
use crate::replica::recovery::orphans::{Orphan, Seen};
use crate::store::StoreError;
use crate::time::UtcMillis;

use super::checks::counters::Tally;
use super::checks::safety::{Violation, Witness};
use super::faults::fault::Fault;
use super::scenarios::unkillable::Hindrance;
use super::scenarios::week::{Week, WeekEvent};
use super::stand_ins::hints::Hinted;
use super::stand_ins::node::Node;

/// Something that happens at its moment.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A request reaches the store; its answer is back after this long, if ever.
    Arrive { seat: usize, life: u32, letter: Box<Letter>, back: Option<Duration> },
    /// Something happens to a replica that is not frozen.
    To { seat: usize, life: u32, what: Box<Happening> },
    /// A replica looks at its clocks.
    Wake { seat: usize, life: u32 },
    /// The deadline that a guard received may have come.
    GuardDue(usize),
    /// Nothing of a run may be left.
    Over(usize),
    /// A replica has looked long enough for what is left of a run of its former process.
    GiveUpOrphan { seat: usize, life: u32, run: RunId },
    /// A fault is over.
    Mend(Mend),
    /// The simulation begins.
    Begin,
    /// The next fault.
    Fault,
    /// The next order of an operator.
    Operate,
    /// The store's follower copies its state.
    Copy,
    /// A client publishes an untrue hint.
    Lie,
    /// What happens in a week alone.
    Week(WeekEvent),
}

/// What can happen to a replica.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    Answered(u64, Answered),
    /// A request that the replica's own thread was about to perform on the embedded store.
    Performs(Box<Letter>, Option<Duration>),
    Ended(RunId, Verdict),
    /// What is seen of a run of an earlier process of the replica; whether this is the first look.
    OrphanSeen(Box<Orphan>, Seen, bool),
    /// A run that was killed is still alive.
    Stuck(RunId),
    Stepped,
    Ordered(Order),
    Overheard(Hinted),
}

/// What is mended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mend {
    Thaw(usize),
    Restart(usize),
    Connect(usize),
    Weather,
    Service,
    GuardThaw(usize),
    Clock(usize),
    /// The boot clock of a machine changes its rate.
    Pace(usize),
    /// A guest comes for this job's lock.
    Guest(usize),
    /// The file has short leases again.
    ShortLeases,
    /// The long lease is over, and no replica has to expect it any more.
    Forgotten,
}

/// How long faults go on, and how long it has to be quiet thereafter.
pub(super) const FAULTS: Duration = Duration::from_secs(420);
pub(super) const QUIET: Duration = Duration::from_secs(240);

/// The whole simulation.
pub(super) struct World {
    pub(super) now: Moment,
    pub(super) dice: Dice,
    pub(super) scenario: Scenario,
    queue: BTreeMap<(Moment, u64), Event>,
    numbers: u64,
    pub(super) seats: Vec<Seat>,
    pub(super) server: Server,
    pub(super) weather: Weather,
    /// What is slow about the line, if it is.
    pub(super) slow: Option<SlowLine>,
    pub(super) witness: Witness,
    pub(super) tally: Tally,
    /// What may go wrong.
    pub(super) menu: &'static [Fault],
    /// Whether the store decides nothing: replicas read its records and swap them.
    pub(super) swaps: bool,
    /// When a fault was going on, or its effects.
    pub(super) troubles: Vec<(Moment, Moment)>,
    /// When the store's clock was set, and what it showed then.
    pub(super) store_steps: Vec<(Moment, UtcMillis)>,
    /// When clocks were wrong.
    pub(super) confusions: Vec<(Moment, Moment)>,
    /// What keeps replicas from renewing their locks.
    pub(super) hindrances: Vec<Hindrance>,
    /// Runs that start before this cannot be killed.
    pub(super) unkillable_until: Moment,
    /// Until then untrue hints are published.
    pub(super) lies: Moment,
    /// Until then no clock is set back that a store and its replicas share: after a loss, no replica knows every tick that
    /// ran.
    pub(super) rows_unknown: Moment,
    /// Until then no fault may disturb the replicas that remember what the store forgot.
    pub(super) delicate: Moment,
    /// Replicas that start before this have the file with the long lease.
    pub(super) long_until: Moment,
    /// Until then no guest or order comes: the replicas that remember more than the store have not reported it yet.
    pub(super) told_by: Moment,
    /// What only a week has.
    pub(super) week: Option<Box<Week>>,
    /// What happened, if it is to be written down.
    pub(super) diary: Option<Vec<String>>,
}

impl World {
    /// The world that this seed makes.
    pub(super) fn seeded(seed: u64, memory: Memory, is_told: bool) -> Self {
        let mut dice = Dice::seeded(seed);
        let mut world = Self::of(Scenario::thrown(memory, &mut dice), dice);
        world.diary = is_told.then(Vec::new);
        world.at(Duration::ZERO, Event::Begin);
        for seat in 0..world.scenario.replicas {
            let late = if world.dice.percent(50) { Duration::ZERO } else { world.dice.ms(0, 5_000) };
            world.at(late, Event::Mend(Mend::Restart(seat)));
        }
        world.at(Duration::from_secs(10), Event::Fault);
        world.at(Duration::from_secs(5), Event::Operate);
        world.at(Duration::from_secs(1), Event::Copy);
        world
    }

    /// A world in which nothing is going to happen.
    pub(super) fn of(scenario: Scenario, dice: Dice) -> Self {
        let jobs = scenario.files[0].jobs.iter().map(|job| job.name.clone()).collect();
        Self {
            now: Moment(0),
            server: Server::new(scenario.memory, jobs),
            seats: scenario.names.iter().map(|_| Seat::default()).collect(),
            scenario,
            dice,
            queue: BTreeMap::new(),
            numbers: 0,
            weather: Weather::Fair,
            slow: None,
            witness: Witness::default(),
            tally: Tally::default(),
            menu: Fault::USUAL,
            swaps: false,
            troubles: vec![(Moment(0), Moment(30_000))],
            store_steps: Vec::new(),
            confusions: Vec::new(),
            hindrances: Vec::new(),
            unkillable_until: Moment(0),
            lies: Moment(0),
            rows_unknown: Moment(0),
            delicate: Moment(0),
            long_until: Moment(0),
            told_by: Moment(0),
            week: None,
            diary: None,
        }
    }

    /// Schedules an event after this time.
    pub(super) fn at(&mut self, after: Duration, event: Event) {
        self.at_moment(self.now.plus(after), event);
    }

    pub(super) fn at_moment(&mut self, at: Moment, event: Event) {
        self.numbers += 1;
        self.queue.insert((at, self.numbers), event);
    }

    /// Whether faults may still happen.
    pub(super) fn is_troubled(&self) -> bool {
        self.now < Moment(0).plus(FAULTS)
    }

    /// What a seat's clocks show.
    pub(super) fn reads(&self, seat: usize) -> Reads {
        self.scenario.clocks[self.scenario.clock_of(seat)].reads(self.now)
    }

    /// What the store's clocks show.
    pub(super) fn store_reads(&self) -> Reads {
        self.scenario.clocks[self.scenario.store_clock()].reads(self.now)
    }

    /// Runs the simulation to its end, and judges it.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        self.run_until(Moment(0).plus(FAULTS + QUIET))?;
        self.judge()
    }

    /// Runs the simulation until this moment.
    pub(super) fn run_until(&mut self, end: Moment) -> Result<(), Violation> {
        while let Some(next) = self.queue.first_entry().filter(|next| next.key().0 <= end) {
            self.now = next.key().0;
            let event = next.remove();
            self.happen(event)?;
        }
        self.now = end;
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Arrive { seat, life, letter, back } => self.arrive(seat, life, letter, back)?,
            Event::To { seat, life, what } => self.happen_to(seat, life, *what)?,
            Event::Wake { seat, life } => self.wake(seat, life)?,
            Event::GuardDue(run) => self.guard_due(run),
            Event::Over(run) => self.over(run)?,
            Event::GiveUpOrphan { seat, life, run } => {
                self.end_look_for_orphan(seat, life, run, Seen::Alive)?
            }
            Event::Mend(mend) => {
                self.mend(mend)?;
                if self.week.is_some() {
                    self.enliven()?;
                }
            }
            Event::Week(event) => self.happen_in_week(event)?,
            Event::Begin => self.begin(),
            Event::Fault => self.next_fault(),
            Event::Operate => self.operate(),
            Event::Lie => self.lie(),
            Event::Copy => {
                self.server.copy(self.now);
                self.watch_clocks();
                self.watch_drains();
                self.at(Duration::from_secs(1), Event::Copy);
            }
        }
        Ok(())
    }

    /// Counts wrong clocks as trouble.
    fn watch_clocks(&mut self) {
        let wrong = Duration::from_millis(500);
        let is_wrong = self.scenario.clocks.iter().any(|clock| clock.error(self.now) > wrong);
        if is_wrong {
            self.trouble(Duration::from_secs(1));
        }
        // Of a store that does not answer, no replica learns that its clock is right again.
        let was_confused = self.confusions.last().is_some_and(|(_, end)| *end >= self.now);
        if is_wrong || was_confused && self.server.service != Service::Up {
            self.confusions.push((self.now, self.now.plus(Duration::from_secs(2))));
        }
    }

    /// Counts replicas that drain as trouble.
    fn watch_drains(&mut self) {
        let drains = |seat: &Seat| seat.node.as_ref().is_some_and(Node::is_draining);
        if self.seats.iter().any(drains) {
            self.trouble(Duration::from_secs(2));
        }
    }

    /// Notes that a fault, or its effects, last for this long.
    pub(super) fn trouble(&mut self, during: Duration) {
        self.troubles.push((self.now, self.now.plus(during)));
    }

    /// Handles a request that arrives: the store answers at once, or when it can.
    pub(super) fn arrive(
        &mut self,
        seat: usize,
        life: u32,
        letter: Box<Letter>,
        back: Option<Duration>,
    ) -> Result<(), Violation> {
        let id = letter.id;
        let is_local = self.server.memory == Memory::Durable;
        if is_local && self.seats[seat].life != life {
            // The embedded store lives in the replica's own process.
            return Ok(());
        }
        if let Service::Frozen(until) = self.server.service {
            self.at_moment(until, Event::Arrive { seat, life, letter, back });
            return Ok(());
        }
        if is_local && self.seats[seat].frozen.is_some() {
            self.seats[seat].held.push(Happening::Performs(letter, back));
            return Ok(());
        }
        if is_local && !self.seats[seat].is_waiting_for(id) {
            return Ok(());
        }
        let written = match letter.ask {
            Ask::Submit(job, _) | Ask::Swap(job, _) => Some(job),
            _ => None,
        };
        let holder = written.and_then(|job| self.server.holder(job));
        let answered = if self.server.service == Service::Down {
            Err(StoreError::NotSent("connection refused".into()))
        } else if written.is_some() && self.server.service.refuses_writes_of(seat) {
            Err(StoreError::Refused("permission denied".into()))
        } else {
            if self.week.is_some() && matches!(letter.ask, Ask::Pulse(_)) {
                self.take_in_left_out_beats();
            }
            let (name, reads) = (&self.scenario.names[seat], self.store_reads());
            let told = self.server.answer(name, &letter.ask, reads, &mut self.tally);
            self.note_exchange(seat, &letter, &told);
            if let Some(job) = written {
                self.server.note_foretold(job, self.now.utc().plus(Duration::from_secs(1)));
                self.see_who_lost_its_lock(job, holder)?;
            }
            self.spread_hints();
            Ok(told)
        };
        if let Some(back) = back {
            let what = Box::new(Happening::Answered(id, answered));
            self.at(back, Event::To { seat, life, what });
        }
        Ok(())
    }
}
