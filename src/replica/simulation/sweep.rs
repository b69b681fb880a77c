//! Simulates many seeds: no failure within the promise may break it.

use std::ops::Range;

use crate::lease::{Answer, Memory};

use super::checks::counters::Tally;
use super::checks::safety::Violation;
use super::faults::fault::Fault;
use super::world::World;
use super::world::process::Process;

/// How many simulations of each kind of store a test run makes: ten minutes each, with a fault every few seconds.
const SEEDS: u64 = 100;

/// The same of runs that cannot be killed, which happen in each of them.
const SEEDS_OF_UNKILLABLE: u64 = 40;

/// This share of them with a store of cells, where an exchange takes more steps.
const SHARE_OF_CELLS: u64 = 3;

/// How many lines of the diary a failure prints, from its end; `SOLOCRON_DIARY` sets more.
const LINES: u64 = 60;

/// Answers that the store of each kind never gives: no record is of a newer release, and operators only act on jobs that
/// have a record.
const NEVER_BY_REDIS: [&str; 2] = ["newer_schema", "no_record"];
const NEVER_BY_THE_EMBEDDED_STORE: [&str; 4] = ["unsynced", "new_era", "newer_schema", "no_record"];

/// What may go wrong in a sweep, with which kind of store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub(super) memory: Memory,
    pub(super) menu: &'static [Fault],
    /// Whether the store decides nothing: replicas read its records and swap them.
    swaps: bool,
}

impl Course {
    /// These faults, with a store that decides.
    pub(super) fn of(memory: Memory, menu: &'static [Fault]) -> Self {
        Self { memory, menu, swaps: false }
    }

    /// Everything usual.
    pub(super) fn usual(memory: Memory) -> Self {
        Self::of(memory, Fault::USUAL)
    }

    /// The same with a store that decides nothing.
    pub(super) fn swapped(self) -> Self {
        Self { swaps: true, ..self }
    }

    /// Simulates what this seed leads to.
    pub(super) fn outcome(self, seed: u64) -> Result<World, Violation> {
        let mut world = self.world(seed, false);
        world.run().map(|()| world)
    }

    fn world(self, seed: u64, is_told: bool) -> World {
        let mut world = World::seeded(seed, self.memory, is_told);
        (world.menu, world.swaps) = (self.menu, self.swaps);
        world
    }

    /// Returns the diary of a violation: the same seed leads to it again, and this time is written down.
    fn story(self, seed: u64) -> String {
        let mut world = self.world(seed, true);
        let end = world.run().err().map(|violation| violation.to_string()).unwrap_or_default();
        format!("{}\nseed {seed}: {end}", last_lines(&world))
    }

    /// Simulates every seed, and returns what happened; a violation panics with its diary.
    pub(super) fn sweep(self, test: &str, seeds: Range<u64>) -> Tally {
        let mut tally = Tally::default();
        for seed in seeds {
            match self.outcome(seed) {
                Ok(world) => tally.merge(&world.tally),
                Err(violation) => panic!(
                    "{}\nseed {seed}: {violation}\nagain, with more of the diary:\n  SOLOCRON_SEED={seed} SOLOCRON_DIARY=1000 \
                     cargo nextest run --features test-switches -E 'test({test})'",
                    self.story(seed)
                ),
            }
        }
        tally
    }
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Returns the last lines of a world's diary.
pub(super) fn last_lines(world: &World) -> String {
    let diary = world.diary.as_deref().unwrap_or_default();
    let lines = usize::try_from(asked("SOLOCRON_DIARY").unwrap_or(LINES)).expect("a number of lines");
    diary[diary.len().saturating_sub(lines)..].join("\n")
}

/// Returns the seeds to try: `SOLOCRON_SEED`, or as many as `SOLOCRON_SEEDS` says, or as many as usual.
pub(super) fn seeds(usual: u64) -> Range<u64> {
    seeds_from(0, usual)
}

/// The same, from this seed on unless `SOLOCRON_SEED` is set.
pub(super) fn seeds_from(first: u64, usual: u64) -> Range<u64> {
    match (asked("SOLOCRON_SEED"), asked("SOLOCRON_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count) => first..first + count.unwrap_or(usual),
    }
}

/// Simulates every seed. Of more than one, everything that the replica has to cope with must have happened: the faults,
/// these events, and all answers but those that this store never gives.
fn sweep(course: Course, test: &str, unanswered: &[&str], events: &[&str]) {
    let Course { memory, menu, .. } = course;
    let usual = if menu == Fault::USUAL { SEEDS } else { SEEDS_OF_UNKILLABLE };
    let usual = if course.swaps { usual / SHARE_OF_CELLS } else { usual };
    let tally = course.sweep(test, seeds(usual));
    if seeds(usual).count() == 1 {
        return;
    }
    let faults = menu.iter().copied().filter(|fault| fault.befalls(memory)).map(Fault::name);
    // Runs that can be killed rarely lose their lock while they are going.
    let is_rare = |name: &&str| *name == "lost" && menu == Fault::USUAL;
    let replies = Answer::NAMES.into_iter().filter(|name| !unanswered.contains(name) && !is_rare(name));
    let replies = replies.map(|name| format!("reply {name}"));
    // With a store of cells there are fewer seeds: that everything happens, the other sweep of the same faults shows.
    let all = faults.chain(replies).filter(|_| !course.swaps);
    for what in all.chain(events.iter().map(|&event| event.to_owned())) {
        assert!(tally.of(&what) > 0, "never happened: {what}\n{tally:#?}");
    }
    let (ticks, calm) = (tally.of("tick"), tally.of("tick without a fault near"));
    assert!(calm * 10 > ticks, "{calm} of {ticks} ticks were free of faults");
    eprintln!("{tally:#?}");
}

/// What happens in the usual sweeps of both kinds of store.
const EVENTS: [&str; 17] = [
    "letter lost",
    "run schedule",
    "run manual",
    "run rerun",
    "operator pause",
    "operator kill",
    "file loaded",
    "replica drained",
    "lost run settled",
    "tick claimed again and granted",
    "stop Replaced",
    "guard killed at the deadline",
    "guard killed at the end of its replica",
    "entry interrupted (node_lost)",
    "entry unknown (store_reset)",
    "entry skipped (overlap)",
    "entry skipped (paused)",
];

/// What happens besides where the store is on another machine.
const OVER_A_NETWORK: [&str; 10] = [
    "letter late",
    "letter repeated",
    "hint lost",
    "hint taken",
    "hint passed over",
    "cut Refused",
    "cut Silent",
    "cut AnswersLost",
    "run catch_up",
    "stop LockLost",
];

#[test]
fn on_a_store_of_cells_whatever_fails_within_the_promise_breaks_none_of_it() {
    let of_swaps = ["swap refused", "decided from what is remembered"];
    let course = Course::usual(Memory::Forgetful).swapped();
    sweep(course, "on_a_store_of_cells_whatever_fails", &NEVER_BY_REDIS, &of_swaps);
}

#[test]
fn on_a_store_of_cells_no_run_starts_beside_an_unkillable_one_still_renewed() {
    let course = Course::of(Memory::Forgetful, Fault::USUAL_AND_UNKILLABLE).swapped();
    sweep(
        course,
        "on_a_store_of_cells_no_run_starts_beside_an_unkillable",
        &NEVER_BY_REDIS,
        &["swap refused", OF_UNKILLABLE[0]],
    );
}

#[test]
fn on_redis_whatever_fails_within_the_promise_breaks_none_of_it() {
    let events = [&EVENTS[..], &OVER_A_NETWORK].concat();
    sweep(Course::usual(Memory::Forgetful), "on_redis_whatever_fails", &NEVER_BY_REDIS, &events);
}

#[test]
fn on_the_embedded_store_whatever_fails_within_the_promise_breaks_none_of_it() {
    let course = Course::usual(Memory::Durable);
    sweep(course, "on_the_embedded_store_whatever_fails", &NEVER_BY_THE_EMBEDDED_STORE, &EVENTS);
}

/// What becomes of runs that cannot be killed, besides everything usual.
const OF_UNKILLABLE: [&str; 5] = [
    "run that cannot be killed",
    "run of a former life that cannot be killed",
    "lock lost of what cannot be killed",
    "run beside what cannot be killed",
    "entry unknown (left_behind)",
];

#[test]
fn on_redis_no_run_starts_beside_an_unkillable_one_still_renewed() {
    let course = Course::of(Memory::Forgetful, Fault::USUAL_AND_UNKILLABLE);
    sweep(course, "on_redis_no_run_starts_beside_an_unkillable", &NEVER_BY_REDIS, &OF_UNKILLABLE);
}

#[test]
fn on_the_embedded_store_no_run_starts_beside_an_unkillable_one_still_renewed() {
    let course = Course::of(Memory::Durable, Fault::USUAL_AND_UNKILLABLE);
    let test = "on_the_embedded_store_no_run_starts_beside_an_unkillable";
    let (rare, usual) = OF_UNKILLABLE.split_last().expect("events");
    sweep(course, test, &NEVER_BY_THE_EMBEDDED_STORE, usual);
    // With this store a lost run is soon recorded as lost: in one world of forty its end comes first, as in this one.
    let world = course.outcome(276).expect("no violation");
    assert!(world.tally.of(rare) > 0, "never happened: {rare}");
}

#[test]
fn the_same_seed_leads_to_the_same_history() {
    let history = |seed, memory| {
        let world = Course::usual(memory).outcome(seed).expect("no violation");
        let run = |run: &Process| {
            let lease = &run.lease;
            (run.job, run.started, run.ends, lease.tick, lease.fence, lease.node.clone(), run.verdict)
        };
        (world.witness.runs.iter().map(run).collect::<Vec<_>>(), world.tally)
    };
    for memory in [Memory::Forgetful, Memory::Durable] {
        let first = history(3, memory);
        assert!(first.0.len() > 10, "{first:?}");
        assert_eq!(first, history(3, memory));
        assert_ne!(first, history(4, memory));
    }
}
