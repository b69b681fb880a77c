//! Weeks by seeds.

use std::time::Duration;

use crate::replica::simulation::checks::counters::Tally;
use crate::replica::simulation::sweep;
use crate::replica::simulation::world::World;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::process::Process;

use super::WEEK;

/// How many weeks a test run simulates; `SOLOCRON_SEEDS` asks for more, `SOLOCRON_SEED` for one of them.
const SEEDS: u64 = 1;

/// What must have happened in them.
const EVENTS: [&str; 21] = [
    "Outage",
    "Crash",
    "AllDown",
    "Sleep",
    "ClockStep",
    "Edit",
    "Pause",
    "store began another life",
    "run schedule",
    "run catch_up",
    "attempt failed, tried again",
    "stop Replaced",
    "tick succeeded",
    "tick failed",
    "tick killed (replaced)",
    "tick interrupted (node_lost)",
    "tick skipped (overlap)",
    "tick skipped (paused)",
    "tick missed (no_replica)",
    "tick missed (store_unreachable)",
    "tick missed (late)",
];

/// Returns the diary of a week up to this moment: the same seed leads to it again, and this time is written down.
fn story(seed: u64, until: Moment) -> String {
    let mut world = World::of_week(seed);
    world.diary = Some(Vec::new());
    drop(world.run_until(until));
    sweep::last_lines(&world)
}

#[test]
fn in_a_week_of_outages_and_edits_every_tick_stands_in_one_record_that_is_right() {
    let seeds = sweep::seeds(SEEDS);
    let is_alone = seeds.clone().count() == 1;
    let mut all = Tally::default();
    for seed in seeds {
        let mut world = World::of_week(seed);
        let wrong = match world.run_until(WEEK) {
            Ok(()) => world.account(),
            Err(violation) => vec![violation.to_string()],
        };
        if is_alone && !wrong.is_empty() {
            eprintln!("{}", story(seed, world.now));
        }
        assert!(
            wrong.is_empty(),
            "{}\n{} times wrong, {} processes; again:\n  SOLOCRON_SEED={seed} SOLOCRON_DIARY=1000 cargo nextest run \
             --features test-switches -E 'test(in_a_week)'\n{:#?}",
            wrong[..wrong.len().min(10)].join("\n"),
            wrong.len(),
            world.witness.runs.len(),
            world.tally,
        );
        all.merge(&world.tally);
    }
    let never: Vec<&&str> = EVENTS.iter().filter(|event| all.of(event) == 0).collect();
    assert!(is_alone || never.is_empty(), "never happened: {never:?}\n{all:#?}");
    eprintln!("{all:#?}");
}

#[test]
fn the_same_seed_makes_the_same_week() {
    let first_day = |seed| {
        let mut world = World::of_week(seed);
        world.run_until(Moment(0).plus(Duration::from_secs(12 * 3_600))).expect("no violation");
        let run = |run: &Process| (run.job, run.lease.tick, run.seat, run.started, run.ends);
        world.witness.runs.iter().map(run).collect::<Vec<_>>()
    };
    assert!(first_day(3).len() > 100);
    assert_eq!(first_day(3), first_day(3));
    assert_ne!(first_day(3), first_day(4));
}

#[cfg(feature = "test-switches")]
#[test]
fn without_the_mark_ticks_run_twice_and_the_week_ends_with_that() {
    use crate::lease::Protection;
    use crate::replica::simulation::checks::safety::Broken;

    let mut world = World::of_week(0);
    let ran = Protection::without(Some(Protection::Mark), || world.run_until(WEEK));
    assert_eq!(ran.expect_err("a tick runs twice").broken, Broken::SecondRun);
}
