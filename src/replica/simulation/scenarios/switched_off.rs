//! Shows that each protection is needed which the simulation can break: without it, a seed soon leads to its violation.

use crate::lease::{Memory, Protection};
use crate::replica::simulation::checks::safety::{Broken, Violation};
use crate::replica::simulation::faults::fault::Fault;
use crate::replica::simulation::world::World;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::slow_line::switched_off as line;

/// So many seeds may be tried until one shows the violation.
const SEEDS: u64 = 400;

/// Until then, every protection is on.
const START: Moment = Moment(9_000);

/// A protection that is switched off.
struct Case {
    off: Protection,
    memory: Memory,
    /// What goes wrong.
    menu: &'static [Fault],
    /// Whether the store decides nothing.
    swaps: bool,
    /// What that leads to.
    expected: Broken,
    /// A seed that led to it when this was written, tried first.
    likely: u64,
}

const fn case(
    off: Protection,
    memory: Memory,
    menu: &'static [Fault],
    expected: Broken,
    likely: u64,
) -> Case {
    Case { off, memory, menu, swaps: false, expected, likely }
}

/// A case of a store that decides nothing.
const fn swap_case(off: Protection, menu: &'static [Fault], expected: Broken, likely: u64) -> Case {
    Case { swaps: true, ..case(off, Memory::Forgetful, menu, expected, likely) }
}

const CASES: [Case; 33] = {
    use Fault::{
        Crash, Cut, Deleted, Emptied, Failover, Freeze, GuardFrozen, GuardKilled, Guest, Lies, LongLease,
        RecordLost, Restart, Rollback, Rough, StoreAhead, StoreFrozen, StoreSlewed, StoreStep, Unkillable,
        WritesRefused,
    };
    use Memory::{Durable, Forgetful};
    const LOSSES: &[Fault] = &[Deleted, Emptied, Failover, Restart, Crash, Crash];
    [
        case(Protection::Mark, Forgetful, &[Crash], Broken::SecondRun, 0),
        case(Protection::Mark, Durable, &[Crash], Broken::SecondRun, 0),
        case(Protection::MarkReset, Forgetful, LOSSES, Broken::SecondRun, 24),
        case(Protection::LargestLease, Forgetful, &[Crash, Freeze, GuardFrozen], Broken::Overlap, 25),
        case(Protection::LargestLease, Durable, &[Freeze, Crash], Broken::Overlap, 18),
        case(Protection::Calm, Forgetful, &[StoreStep, Restart, Cut], Broken::Overlap, 3),
        case(Protection::Expect, Forgetful, &[Rough, StoreFrozen, Cut, StoreStep], Broken::Overlap, 37),
        case(Protection::Early, Forgetful, &[StoreStep, Rough], Broken::Early, 3),
        case(Protection::AtInstant, Forgetful, &[Rough], Broken::Early, 0),
        case(Protection::AtInstant, Durable, &[Crash], Broken::Early, 0),
        case(Protection::HolderCheck, Forgetful, &[Rough, Freeze, Cut], Broken::Overlap, 1),
        case(Protection::HolderCheck, Durable, &[Freeze, Crash], Broken::Overlap, 0),
        case(
            Protection::DeadlineFromSending,
            Forgetful,
            &[Rough, Rough, Cut, StoreFrozen],
            Broken::OutOfHand,
            170,
        ),
        case(Protection::Guard, Forgetful, &[Crash, Freeze], Broken::Overlap, 1),
        case(Protection::Guard, Durable, &[Crash, Freeze], Broken::OutOfHand, 8),
        case(Protection::ResentFinish, Forgetful, LOSSES, Broken::Overlap, 1),
        case(Protection::LivingHolder, Forgetful, &[Crash, Cut], Broken::Unjust, 3),
        case(Protection::HintCheck, Forgetful, &[Lies], Broken::Missed, 0),
        case(Protection::SteadyRate, Forgetful, &[StoreSlewed], Broken::Overlap, 14),
        case(Protection::AnsweredMark, Forgetful, &[Rollback, Crash], Broken::SecondRun, 12),
        case(Protection::RecordCheck, Forgetful, &[RecordLost, LongLease, Guest], Broken::Overlap, 50),
        case(Protection::OwnRun, Forgetful, &[Unkillable, Freeze, Cut, GuardKilled], Broken::OwnOverlap, 9),
        case(Protection::LateRenewal, Forgetful, &[Unkillable, Freeze, Cut], Broken::LockTaken, 0),
        case(Protection::AheadReopened, Forgetful, &[StoreAhead, Crash], Broken::Stalled, 8),
        case(Protection::LeaseForgotten, Forgetful, &[LongLease, Restart], Broken::Missed, 9),
        case(Protection::LiveRun, Forgetful, &[WritesRefused], Broken::SecondRun, 0),
        case(Protection::MaxRunning, Durable, &[Crash], Broken::OverCapacity, 2),
        case(Protection::SlotPassedOn, Durable, &[Crash], Broken::Missed, 20),
        case(Protection::FenceFromClock, Forgetful, LOSSES, Broken::Fence, 0),
        case(Protection::PassedRecorded, Forgetful, &[Crash, Cut], Broken::Untold, 0),
        case(Protection::Settling, Forgetful, LOSSES, Broken::ToldTwice, 6),
        case(Protection::EntriesWithdrawn, Forgetful, &[StoreAhead, Crash], Broken::Foretold, 0),
        swap_case(Protection::SwapVersion, &[Rough], Broken::SecondRun, 3),
    ]
};

/// Protections of swaps that only the model and the tests of the exchange show: here, what they keep off hardly ever meets the
/// moment in which it matters.
const SHOWN_ELSEWHERE: [Protection; 6] = [
    Protection::SwapNonce,
    Protection::SwapEra,
    Protection::SwapAge,
    Protection::SwapNotAhead,
    Protection::FreshRead,
    Protection::AbandonWrites,
];

impl Case {
    fn world(&self, seed: u64) -> World {
        let mut world = World::seeded(seed, self.memory, false);
        (world.menu, world.swaps) = (self.menu, self.swaps);
        world
    }

    /// Returns what this seed leads to without the protection.
    fn outcome(&self, seed: u64) -> Result<(), Violation> {
        let mut world = self.world(seed);
        world.run_until(START)?;
        Protection::without(Some(self.off), || world.run())
    }

    /// Tries seeds without the protection until its violation shows.
    fn shows(&self) {
        let Self { off, expected, likely, .. } = *self;
        let mut others = Vec::new();
        for seed in std::iter::once(likely).chain(0..SEEDS) {
            match self.outcome(seed) {
                Err(violation) if violation.broken == expected => {
                    eprintln!("without {off}, seed {seed}: {violation}");
                    return;
                }
                Err(violation) => others.push((seed, violation.broken)),
                Ok(()) => {}
            }
        }
        panic!("without {off}, no seed of {SEEDS} shows {expected:?}, but {others:?}");
    }
}

fn every_case(of: impl Fn(&Case) -> bool) {
    CASES.iter().filter(|case| of(case)).for_each(Case::shows);
}

#[test]
fn on_redis_each_protection_that_is_switched_off_is_missed() {
    every_case(|case| case.memory == Memory::Forgetful && !case.swaps);
}

#[test]
fn on_a_store_of_cells_each_protection_that_is_switched_off_is_missed() {
    every_case(|case| case.swaps);
}

#[test]
fn on_the_embedded_store_each_protection_that_is_switched_off_is_missed() {
    every_case(|case| case.memory == Memory::Durable);
}

#[test]
fn no_protection_is_left_out() {
    let is_shown = |off: Protection| {
        off == line::SHOWN || SHOWN_ELSEWHERE.contains(&off) || CASES.iter().any(|case| case.off == off)
    };
    let all = Protection::ALL.iter().filter(|protection| !is_shown(**protection));
    assert_eq!(all.count(), 0, "every protection is needed, and a case shows for what");
}

#[test]
fn each_check_finds_what_it_is_for() {
    let is_found = |broken: Broken| CASES.iter().any(|case| case.expected == broken);
    let all = Broken::ALL.iter().filter(|broken| !is_found(**broken));
    assert_eq!(all.count(), 0, "a check that finds nothing checks nothing");
}

/// Makes a simulation of each case with every protection on.
fn no_case_shows_anything(seed: u64) {
    for case in &CASES {
        let Case { memory, menu, swaps, .. } = case;
        let outcome = case.world(seed).run();
        outcome.unwrap_or_else(|violation| {
            panic!("{memory:?} {menu:?}, swaps {swaps}, seed {seed}: {violation}")
        });
    }
}

#[test]
fn with_every_protection_on_no_case_shows_anything() {
    no_case_shows_anything(0);
}

#[test]
fn with_every_protection_on_no_case_shows_anything_with_another_seed() {
    no_case_shows_anything(1);
}
