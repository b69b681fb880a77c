//! Where a replica runs: a machine with its clocks, a disk that outlives the replica, and the guards of its runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{Cause, OnInterrupt};
use crate::lease::{Memory, Request};
use crate::replica::simulation::checks::safety::{Broken, Violation, named};
use crate::replica::simulation::stand_ins::keep::Keep;
use crate::replica::simulation::stand_ins::node::{Deed, Node};
use crate::replica::simulation::world::{Event, Happening, World};
use crate::store::StoreError;
use crate::time::BootInstant;

use super::clock::Moment;
use super::message::{Ask, Letter, Told};
use super::network;
use super::network::Cut;
use super::process::{Process, StartPlan};
use super::scenario::Length;

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
    next_wake: Option<Moment>,
    /// Its wall clock was stepped, and it has yet to see that.
    pub(crate) is_stepped: bool,
    /// When its replica last had an answer from the store.
    pub(crate) heard: Option<Moment>,
}

impl Seat {
    /// Whether its replica runs, is not frozen, and is not cut off.
    pub(crate) fn is_well(&self) -> bool {
        self.node.is_some() && self.frozen.is_none() && self.cut.is_none()
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
            Happening::Answered(id, answered) => {
                if matches!(answered, Ok(Told::Pulse(_))) {
                    place.heard = Some(self.now);
                }
                node.answered(id, answered, reads);
            }
            Happening::Performs(letter, back) => {
                return self.arrive(seat, life, letter, back);
            }
            Happening::Buried(job, run, is_sure) => node.orphan_ended(job, run, is_sure, reads),
            Happening::Stuck(run) => {
                // A run whose guard has reported its end meanwhile is over.
                let is_alive = self.witness.alive().any(|(_, process)| process.lease.run == run);
                if is_alive {
                    node.found_stuck(run);
                }
            }
            Happening::Ended(run, verdict) => {
                let its = self.witness.runs.iter_mut().rev().find(|process| process.lease.run == run);
                its.expect("what has ended was started").learned = self.now;
                node.run_ended(run, verdict, reads);
            }
            Happening::Stepped => {}
            Happening::Wished(job, wish) => {
                node.reads = reads;
                node.wish(job, wish);
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
        self.see_off(seat);
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
            Deed::Send(letter) => self.send(seat, letter),
            Deed::Start(keep) => return self.start(seat, *keep),
            Deed::Renewed { run, sent, deadline } => {
                let (boot, now) = (self.reads(seat).boot, self.now);
                let Some(at) = self.find(run) else { return Ok(()) };
                let good = self.true_moment(seat, boot.since(sent));
                let process = &mut self.witness.runs[at];
                process.last_good = process.last_good.max(good);
                if let Some(deadline) = deadline {
                    process.hear(deadline, now, deadline.since(boot));
                    self.watch_deadline(at);
                }
            }
            Deed::Stop { run, grace, reason } => {
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
                if let Some(at) = self.witness.runs.iter().position(|process| process.lease.run == run) {
                    self.witness.runs[at].is_recorded |= !is_interrupted;
                }
            }
        }
        Ok(())
    }

    fn find(&self, run: crate::job::RunId) -> Option<usize> {
        self.witness.alive().find(|(_, process)| process.lease.run == run).map(|(at, _)| at)
    }

    /// Returns the true moment that was this long ago by a seat's own clock.
    fn true_moment(&self, seat: usize, ago: Duration) -> Moment {
        let clock = &self.scenario.clocks[self.scenario.clock_of(seat)];
        let then = BootInstant(clock.boot(self.now).0.saturating_sub(ago));
        let earlier =
            Moment(self.now.0.saturating_sub(u64::try_from(ago.as_millis()).expect("short") * 120 / 100));
        clock.when(then, earlier)
    }

    fn send(&mut self, seat: usize, letter: Box<Letter>) {
        let is_local = self.server.memory == Memory::Durable;
        let longest = if is_local { LOCAL_PATIENCE } else { PATIENCE };
        let patience = match &letter.ask {
            Ask::Submit(_, Request::Renew(renew)) => longest.min(renew.answer_limit()),
            _ => longest,
        };
        let mut fate = if is_local {
            network::fate_of_local(&mut self.dice, self.weather, patience)
        } else {
            network::fate(&mut self.dice, self.weather, self.seats[seat].cut)
        };
        if let Some(slow) = &mut self.slow {
            slow.delay(&mut fate);
        }
        let (life, id) = (self.seats[seat].life, letter.id);
        let mut back = fate.back;
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
        let (after, error) = match fate.refused {
            Some(after) => (after, StoreError::NotSent("not connected".into())),
            None => (patience, StoreError::Unknown("no answer in time".into())),
        };
        let what = Box::new(Happening::Answered(id, Err(error)));
        self.at(after, Event::To { seat, life, what });
    }

    fn start(&mut self, seat: usize, keep: Keep) -> Result<(), Violation> {
        let length = match self.scenario.lengths[keep.job] {
            Length::None => Duration::ZERO,
            Length::UpTo(most) => self.dice.ms(0, most),
        };
        let (job, life) = (keep.job, self.seats[seat].life);
        let Some(node) = &self.seats[seat].node else { return Ok(()) };
        let spec = Arc::clone(&node.jobs[keep.job]);
        let reruns = spec.on_interrupt == OnInterrupt::Rerun;
        let grace = crate::lease::Pace::new(spec.lease, spec.kill_grace).loss_grace();
        let (boot, deadline) = (self.reads(seat).boot, keep.deadline.at());
        let left = keep.lease.tick.instant().since(self.reads(seat).wall);
        let is_early = !left.min(keep.may_wait(self.reads(seat).boot)).is_zero();
        let lease = keep.lease;
        if is_early && lease.cause != Cause::Manual {
            let how = format!("{}, {left:?} ahead by its own clock", named(&lease));
            return Err(Violation::of(Broken::Early, how));
        }
        self.tally.count(&format!("run {}", lease.cause));
        if self.witness.alive().any(|(_, run)| run.job == keep.job) {
            self.tally.count("run beside what cannot be killed");
        }
        self.note(|| format!("starts j{job}: {}", named(&lease)));
        let left = deadline.since(boot);
        let plan = StartPlan { job, seat, life, lease, deadline, left, loss_grace: grace, length };
        let mut process = Process::start(plan, self.now, &mut self.dice);
        process.last_good = self.true_moment(seat, boot.since(keep.sent));
        self.may_be_unkillable(&mut process);
        let seen = match process.lease.cause {
            Cause::Rerun if !reruns => {
                Err(Violation::of(Broken::SecondRun, format!("unasked for: {process:?}")))
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
