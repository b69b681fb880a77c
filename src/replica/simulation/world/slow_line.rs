//! A slow line between the replicas and their store, and the queue before it: in place of `gather.rs`. Each
//! request is a call of its own, because few jobs are simulated, and few calls under way make as much of a queue for
//! them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::job::JobName;
use crate::lease::{Claim, Memory, Protection, Request};
use crate::replica::simulation::stand_ins::errand::Errand;
use crate::replica::simulation::stand_ins::node::Node;
use crate::replica::simulation::sweep::{last_lines, seeds};
use crate::replica::simulation::world::{FAULTS, QUIET, World};
use crate::replica::tick::claim_window::{CLAIMS_UNDER_WAY, Window};
use crate::store::StoreError;
use crate::time::BootInstant;

use super::clock::Moment;
use super::message::Ask;
use super::network::Fate;
use super::rng::Dice;

/// As in `gather.rs`: what has waited longer is not worth sending.
const WORTH_FOR: Duration = Duration::from_millis(500);

/// Round trips, in milliseconds.
const ROUND_TRIPS: [u64; 5] = [1, 50, 150, 300, 500];

/// How many simulations a test run makes.
const SEEDS: u64 = 100;

/// What is slow about a line.
#[derive(Debug)]
pub(crate) struct SlowLine {
    dice: Dice,
    round_trip: u64,
    /// Claims that are under way at a time.
    at_a_time: usize,
}

impl SlowLine {
    fn thrown(seed: u64) -> Self {
        let mut dice = Dice::seeded(!seed);
        Self { round_trip: dice.pick(&ROUND_TRIPS), at_a_time: dice.below(2) + 1, dice }
    }

    /// The end of it at a replica that starts.
    pub(crate) fn end(&self) -> LineEnd {
        LineEnd { at_a_time: self.at_a_time, ..LineEnd::default() }
    }

    /// A letter takes its time each way, and now and then more.
    pub(crate) fn delay(&mut self, fate: &mut Fate) {
        let (each_way, jitter) = (self.round_trip / 2, self.round_trip / 10);
        for after in fate.arrivals.iter_mut().chain(&mut fate.back) {
            *after += self.dice.ms(each_way, each_way + jitter);
        }
    }
}

/// The queue of one replica, in which claims wait until they are sent.
#[derive(Debug)]
pub(crate) struct LineEnd {
    at_a_time: usize,
    under_way: usize,
    waiting: VecDeque<(JobName, Claim, BootInstant)>,
}

impl Default for LineEnd {
    fn default() -> Self {
        Self { at_a_time: CLAIMS_UNDER_WAY, under_way: 0, waiting: VecDeque::new() }
    }
}

impl LineEnd {
    /// A claim waits for its turn.
    pub(crate) fn add(&mut self, job: JobName, claim: Claim, sent: BootInstant) {
        self.waiting.push_back((job, claim, sent));
    }

    /// Whether no claim waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A replica has somewhat more claims under way than the line carries: some always wait for their turn.
    pub(crate) fn window(&self) -> Window<JobName> {
        Window::of(self.at_a_time + 1)
    }
}

impl Node {
    /// `send_out`.
    pub(crate) fn send_waiting(&mut self) {
        while self.line.under_way < self.line.at_a_time
            && let Some((job, claim, sent)) = self.line.waiting.pop_front()
        {
            let run = claim.run;
            if Protection::FreshClaims.is_on() && self.reads.boot.since(sent) > WORTH_FOR {
                let busy = StoreError::NotSent("the line was busy".into());
                self.claim_answered(job, run, sent, Err(busy));
                continue;
            }
            self.line.under_way += 1;
            let ask = Ask::Submit(self.number(&job), Box::new(Request::Claim(claim)));
            self.send(ask, Errand::Claim { job, run, sent });
        }
    }

    /// A claim that was sent is answered, or given up: the next has its turn.
    pub(crate) fn line_is_free(&mut self) {
        self.line.under_way -= 1;
        self.send_waiting();
    }
}

/// A cluster whose line is slow: late ticks are not judged then, but everything else is.
fn world(seed: u64, is_told: bool) -> World {
    let mut world = World::seeded(seed, Memory::Forgetful, is_told);
    world.slow = Some(SlowLine::thrown(seed));
    world.troubles.push((Moment(0), Moment(0).plus(FAULTS + QUIET)));
    // Where a claim takes as long as a job's period, a job whose next claim is always under way keeps its slot.
    world.scenario.lift_limits();
    world
}

#[test]
fn over_a_slow_line_no_fault_breaks_the_promise_and_every_job_has_its_turn() {
    for seed in seeds(SEEDS) {
        if world(seed, false).run().is_err() {
            let mut told = world(seed, true);
            let violation = told.run().expect_err("the same seed leads to the same history");
            let last = last_lines(&told);
            panic!("{last}\nseed {seed}, {:?}: {violation}", told.slow);
        }
    }
}

/// What only a slow line shows: a claim that is built when it is due waits in a queue until it is out of date, again
/// and again.
#[cfg(feature = "test-switches")]
pub(crate) mod switched_off {
    use crate::replica::simulation::checks::safety::{Broken, Violation};
    use crate::replica::simulation::faults::fault::Fault;

    use super::*;

    pub(crate) const SHOWN: Protection = Protection::FreshClaims;

    /// So many seeds may be tried until one shows the violation.
    const TRIED: u64 = 40;

    /// What this seed leads to over the slowest line, without this protection.
    fn over_the_slowest(seed: u64, off: Option<Protection>) -> Result<(), Violation> {
        let mut world = world(seed, false);
        world.slow = Some(SlowLine { round_trip: 500, at_a_time: 1, dice: Dice::seeded(seed) });
        world.menu = &[Fault::Crash];
        Protection::without(off, || world.run())
    }

    #[test]
    fn over_a_slow_line_fresh_claims_that_are_switched_off_are_missed() {
        let stalls = |seed| {
            let found = over_the_slowest(seed, Some(SHOWN)).err();
            found.filter(|violation| violation.broken == Broken::Stalled)
        };
        let found = (0..TRIED).find_map(|seed| Some((seed, stalls(seed)?)));
        let (seed, violation) = found.unwrap_or_else(|| panic!("without {SHOWN}, no seed of {TRIED} stalls"));
        eprintln!("without {SHOWN}, seed {seed}: {violation}");
        assert!(over_the_slowest(seed, None).is_ok(), "with {SHOWN}, nothing stalls");
    }
}
