//! Where a replica runs: a machine with its clocks, a disk that outlives the replica, and the guards of its runs.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{Cause, OnInterrupt, RunId};
use crate::lease::{Memory, Request};
use crate::replica::recovery::orphans::Orphan;
use crate::replica::simulation::checks::safety::{Broken, Violation, named};
use crate::replica::simulation::stand_ins::node::{Deed, Node, StartedRun};
use crate::replica::simulation::world::{Event, Happening, Mend, World};
use crate::run::StopOrder;
use crate::store::StoreError;
use crate::time::BootInstant;

use super::clock::Moment;
use super::message::{Ask, Letter, Order, Told};
use super::network;
use super::network::Cut;
use super::process::{Process, StartPlan};
use crate::replica::simulation::stand_ins::exchanges::Exchanges;

/// How long a replica waits for an answer: `RESPONSE_TIMEOUT` of the Redis client, `Patience` of the embedded store.
const PATIENCE: Duration = Duration::from_secs(2);
const LOCAL_PATIENCE: Duration = Duration::from_secs(4);

/// A place for a replica.
#[derive(Default)]
pub(crate) struct Seat {
    pub(crate) node: Option<Node>,
    /// Counts processes: an event that was meant for an earlier one never reaches a later one.
    pub(crate) life: u32,
    /// Frozen until then.
    pub(crate) frozen: Option<Moment>,
    /// What happens once it is thawed.
    pub(crate) held: Vec<Happening>,
    pub(crate) cut: Option<Cut>,
    pub(crate) disk: BTreeMap<usize, LeaseNote>,
    /// The requests that its process is about to decide.
    pub(crate) exchanges: Exchanges,
    /// The runs of former processes that its replica waits for, and whether it looks for them for the first time.
    pub(crate) orphans: Vec<(Box<Orphan>, bool)>,
    /// Whether the capacity of its replica is not checked: it was given a run that it had no slot for, or loaded a file.
    pub(crate) is_capacity_unchecked: bool,
    next_wake: Option<Moment>,
    /// Its wall clock was stepped, and it has yet to see that.
    pub(crate) is_stepped: bool,
    /// When its replica last had an answer from the store.
    pub(crate) heard: Option<Moment>,
}

impl Seat {
    /// Whether its replica runs, is not about to end, is not frozen, and is not cut off.
    pub(crate) fn is_well(&self) -> bool {
        let stays = self.node.as_ref().is_some_and(|node| !node.is_draining());
        stays && self.frozen.is_none() && self.cut.is_none()
    }

    pub(crate) fn is_waiting_for(&self, letter: u64) -> bool {
        self.node.as_ref().is_some_and(|node| node.errands.contains_key(&letter))
    }
}

impl World {
    /// Something happens to a replica, now or when it is thawed.
    pub(crate) fn happen_to(&mut self, seat: usize, life: u32, what: Happening) -> Result<(), Violation> {
        let reads = self.reads(seat);
        let place = &mut self.seats[seat];
        if place.life != life {
            return Ok(());
        }
        if place.frozen.is_some() {
            place.held.push(what);
            return Ok(());
        }
        let Some(node) = place.node.as_mut() else { return Ok(()) };
        node.see_step(&mut place.is_stepped, reads);
        match what {
            Happening::Answered(id, Ok(told @ (Told::Cell(_) | Told::Swapped(_)))) => {
                return self.continue_exchange(seat, id, told);
            }
            Happening::Answered(id, answered) => {
                place.exchanges.end(id);
                if matches!(answered, Ok(Told::Pulse(_))) {
                    place.heard = Some(self.now);
                }
                node.answered(id, answered, reads);
            }
            Happening::Performs(letter, back) => {
                return self.arrive(seat, life, letter, back);
            }
            Happening::OrphanSeen(orphan, seen, is_first) => node.orphan_seen(orphan, seen, is_first, reads),
            Happening::Stuck(run) => {
                // A run whose guard has reported its end meanwhile is over.
                let is_alive = self.witness.alive().any(|(_, process)| process.lease.run == run);
                if is_alive {
                    node.found_stuck(run);
                }
            }
            Happening::Ended(run, verdict) => {
                let its = self.witness.runs.iter_mut().rev().find(|process| process.lease.run == run);
                let its = its.expect("what has ended was started");
                let clock = &self.scenario.clocks[self.scenario.clock_of(seat)];
                let ago = its.learn_end(self.now, reads.boot.since(clock.boot(its.ends)));
                node.run_ended(run, verdict, ago, reads);
            }
            Happening::Stepped => {}
            Happening::Ordered(order) => {
                let file = match order {
                    Order::Reload(file) => Some(&self.scenario.files[file]),
                    _ => None,
                };
                place.is_capacity_unchecked |= file.is_some();
                node.ordered(order, file, reads);
            }
            Happening::Overheard(hint) => {
                let is_news = node.take_hint(hint, reads);
                self.tally.count(if is_news { "hint taken" } else { "hint passed over" });
            }
        }
        self.perform(seat)
    }

    pub(crate) fn wake(&mut self, seat: usize, life: u32) -> Result<(), Violation> {
        let reads = self.reads(seat);
        let now = self.now;
        let place = &mut self.seats[seat];
        if place.life != life || place.frozen.is_some() || place.next_wake != Some(now) {
            return Ok(());
        }
        place.next_wake = None;
        let Some(node) = place.node.as_mut() else { return Ok(()) };
        node.see_step(&mut place.is_stepped, reads);
        node.wake(reads);
        self.perform(seat)
    }

    /// Performs the replica's deeds, and schedules its next wake-up.
    pub(crate) fn perform(&mut self, seat: usize) -> Result<(), Violation> {
        while let Some(node) = &mut self.seats[seat].node
            && !node.deeds.is_empty()
        {
            let deeds = std::mem::take(&mut node.deeds);
            for deed in deeds {
                self.do_deed(seat, deed)?;
            }
        }
        self.see_off(seat)?;
        let (now, place) = (self.now, &mut self.seats[seat]);
        let Some(node) = &place.node else { return Ok(()) };
        // A clock that runs slow may not have got there yet: a millisecond more, and the replica checks again.
        let at = now.plus(node.idle_for().max(Duration::from_millis(1)));
        if place.next_wake.is_none_or(|planned| planned <= now || planned > at) {
            place.next_wake = Some(at);
            let life = place.life;
            self.at_moment(at, Event::Wake { seat, life });
        }
        Ok(())
    }

    fn do_deed(&mut self, seat: usize, deed: Deed) -> Result<(), Violation> {
        match deed {
            Deed::Send(letter) => return self.send(seat, *letter),
            Deed::Start(start) => return self.start(seat, *start),
            Deed::Renewed { run, sent } => {
                // It may be between two attempts.
                let Some(at) = self.newest_attempt(run) else { return Ok(()) };
                let good = self.true_moment(seat, self.reads(seat).boot.since(sent));
                let process = &mut self.witness.runs[at];
                process.last_good = process.last_good.max(good);
            }
            Deed::SetDeadline { run, deadline } => {
                let (boot, now) = (self.reads(seat).boot, self.now);
                let Some(at) = self.find(run) else { return Ok(()) };
                self.witness.runs[at].hear(deadline, now, deadline.since(boot));
                self.watch_deadline(at);
            }
            Deed::CheckOrphan { orphan, is_first } => self.look_for_orphan(seat, orphan, is_first),
            Deed::ClaimedAgain => {
                self.tally.count("tick claimed again and granted");
                self.seats[seat].is_capacity_unchecked = true;
            }
            Deed::Count(what) => self.tally.count(what),
            Deed::Stop { run, order: StopOrder { grace, reason } } => {
                let Some(at) = self.find(run) else { return Ok(()) };
                self.note(|| format!("run {run} is stopped: {reason:?}"));
                self.tally.count(&format!("stop {reason:?}"));
                let now = self.now;
                if self.witness.runs[at].stop(now, grace, reason, &mut self.dice) {
                    self.expect_end(at);
                }
                self.expect_complaint(at, grace);
            }
            Deed::Recorded { run, verdict } => {
                let is_interrupted = verdict.outcome == crate::job::Outcome::Interrupted;
                let now = self.now;
                for process in self.witness.runs.iter_mut().filter(|process| process.lease.run == run) {
                    process.is_recorded |= !is_interrupted;
                    process.recorded.get_or_insert(now);
                }
            }
        }
        Ok(())
    }

    /// Removes a process that has ended by itself. A replica starts again after a while.
    fn see_off(&mut self, seat: usize) -> Result<(), Violation> {
        let Some(node) = &mut self.seats[seat].node else { return Ok(()) };
        if node.is_left() {
            // Its guards kill what it left behind.
            let after = self.dice.ms_of_any_order(60_000);
            self.start_again(seat, after);
        } else if node.has_left() {
            let is_replica = node.core.is_some();
            let last = node.last_beat();
            last.map_or(Ok(()), |letter| self.send(seat, *letter))?;
            self.end_life(seat);
            if is_replica {
                self.tally.count("replica drained");
                let after = self.dice.ms_of_any_order(60_000);
                self.trouble(after + Duration::from_secs(4));
                self.at(after, Event::Mend(Mend::Restart(seat)));
            } else {
                self.seats[seat].disk.clear();
            }
        }
        Ok(())
    }

    fn find(&self, run: RunId) -> Option<usize> {
        self.newest_attempt(run).filter(|at| !self.witness.runs[*at].is_over)
    }

    fn newest_attempt(&self, run: RunId) -> Option<usize> {
        self.witness.runs.iter().rposition(|process| process.lease.run == run)
    }

    /// Returns the true moment that was this long ago by a seat's own clock.
    fn true_moment(&self, seat: usize, ago: Duration) -> Moment {
        let clock = &self.scenario.clocks[self.scenario.clock_of(seat)];
        let then = BootInstant(clock.boot(self.now).0.saturating_sub(ago));
        let earlier =
            Moment(self.now.0.saturating_sub(u64::try_from(ago.as_millis()).expect("short") * 120 / 100));
        clock.when(then, earlier)
    }

    /// A process sends a request, and waits for its answer no longer than its patience lasts.
    fn send(&mut self, seat: usize, letter: Letter) -> Result<(), Violation> {
        let is_local = self.server.memory == Memory::Durable;
        let longest = if is_local { LOCAL_PATIENCE } else { PATIENCE };
        let patience = match &letter.ask {
            Ask::Submit(_, request) => match &**request {
                Request::Renew(renew) => longest.min(renew.answer_limit()),
                _ => longest,
            },
            _ => longest,
        };
        let (life, id) = (self.seats[seat].life, letter.id);
        let error = StoreError::Unknown("no answer in time".into());
        let what = Box::new(Happening::Answered(id, Err(error)));
        self.at(patience, Event::To { seat, life, what });
        match letter.ask {
            Ask::Submit(job, request) if self.swaps => self.begin_exchange(seat, id, job, request, patience),
            ask => {
                self.post(seat, Box::new(Letter { id, ask }), patience);
                Ok(())
            }
        }
    }

    /// A message of a process goes to the store.
    pub(crate) fn post(&mut self, seat: usize, letter: Box<Letter>, patience: Duration) {
        let is_local = self.server.memory == Memory::Durable;
        let mut fate = if is_local {
            network::fate_of_local(&mut self.dice, self.weather, patience)
        } else {
            network::fate(&mut self.dice, self.weather, self.seats[seat].cut)
        };
        if let Some(slow) = &mut self.slow {
            slow.delay(&mut fate);
        }
        let (life, id) = (self.seats[seat].life, letter.id);
        let mut back = fate.back.filter(|_| !self.loses_answer(&letter));
        if fate.arrivals.is_empty() && fate.refused.is_none() {
            self.tally.count("letter lost");
        }
        for (count, after) in fate.arrivals.into_iter().enumerate() {
            if after > patience {
                self.tally.count("letter late");
            }
            if count > 0 {
                self.tally.count("letter repeated");
            }
            self.at(after, Event::Arrive { seat, life, letter: letter.clone(), back: back.take() });
        }
        if let Some(after) = fate.refused {
            let what = Box::new(Happening::Answered(id, Err(StoreError::NotSent("not connected".into()))));
            self.at(after, Event::To { seat, life, what });
        }
    }

    fn start(&mut self, seat: usize, start: StartedRun) -> Result<(), Violation> {
        let StartedRun { job, lease, attempt, deadline, sent, may_wait, loss_grace } = start;
        let length = self.scenario.lengths[job].thrown(&mut self.dice);
        let (life, boot) = (self.seats[seat].life, self.reads(seat).boot);
        let reruns = self.scenario.spec(job).on_interrupt == OnInterrupt::Rerun;
        let left = lease.tick.instant().since(self.reads(seat).wall);
        let is_early = !left.min(may_wait).is_zero();
        self.has_room(seat)?;
        if is_early && lease.cause != Cause::Manual {
            let how = format!("{}, {left:?} ahead by its own clock", named(&lease));
            return Err(Violation::of(Broken::Early, how));
        }
        self.tally.count(&format!("run {}", lease.cause));
        if self.witness.alive().any(|(_, run)| run.job == job) {
            self.tally.count("run beside what cannot be killed");
        }
        self.note(|| format!("starts j{job}: {}", named(&lease)));
        let left = deadline.since(boot);
        let plan = StartPlan { job, seat, life, lease, attempt, deadline, left, loss_grace, length };
        let mut process = Process::start(plan, self.now, &mut self.dice);
        process.last_good = self.true_moment(seat, boot.since(sent));
        if let Some(before) = self.newest_attempt(process.lease.run) {
            process.last_good = process.last_good.max(self.witness.runs[before].last_good);
        }
        self.may_be_unkillable(&mut process);
        let seen = match process.lease.cause {
            Cause::Rerun if !reruns => {
                Err(Violation::of(Broken::SecondRun, format!("unasked for: {process:?}")))
            }
            Cause::Rerun if self.is_listed(&process) => {
                Err(Violation::of(Broken::SecondRun, format!("beside a live replica's run: {process:?}")))
            }
            _ => self.witness.started(&process),
        };
        self.witness.runs.push(process);
        let at = self.witness.runs.len() - 1;
        self.expect_end(at);
        self.watch_deadline(at);
        seen
    }
}
