//! Weeks by seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::replica::simulation::world::clock::Moment;

use super::world::World;

/// How many weeks a test run simulates; `SOLOCRON_SEEDS` asks for more, `SOLOCRON_SEED` for one of them.
const SEEDS: u64 = 2;

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
    "attempt failed, trying again",
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

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn in_a_week_of_outages_and_edits_every_tick_stands_in_one_record_that_is_right() {
    let seeds = match (asked("SOLOCRON_SEED"), asked("SOLOCRON_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count) => 0..count.unwrap_or(SEEDS),
    };
    let is_alone = seeds.end - seeds.start == 1;
    let mut all = BTreeMap::<String, u64>::new();
    for seed in seeds {
        let mut world = World::seeded(seed);
        world.run();
        let wrong = world.account();
        let counts = &world.log.counts;
        assert!(
            wrong.is_empty(),
            "{}\n{} ticks are wrong, {} runs; again:\n  SOLOCRON_SEED={seed} cargo nextest run --features test-switches \
             -E 'test(in_a_week)'\n{counts:#?}",
            wrong[..wrong.len().min(10)].join("\n"),
            wrong.len(),
            world.runs.len(),
        );
        counts.iter().for_each(|(what, times)| *all.entry(what.clone()).or_default() += times);
    }
    let never: Vec<&&str> = EVENTS.iter().filter(|event| !all.contains_key(**event)).collect();
    assert!(is_alone || never.is_empty(), "never happened: {never:?}\n{all:#?}");
    eprintln!("{all:#?}");
}

#[test]
fn the_same_seed_makes_the_same_week() {
    let story = |seed| {
        let mut world = World::seeded(seed);
        world.run_until(Moment(0).plus(Duration::from_secs(24 * 3_600)));
        let run =
            |run: &super::course::Run| (run.job.clone(), run.lease.tick, run.seat, run.started, run.ended);
        world.runs.iter().map(run).collect::<Vec<_>>()
    };
    assert!(story(3).len() > 100);
    assert_eq!(story(3), story(3));
    assert_ne!(story(3), story(4));
}

#[cfg(feature = "test-switches")]
#[test]
fn without_the_mark_ticks_run_twice_and_the_account_says_so() {
    let mut world = World::seeded(0);
    crate::lease::Protection::without(Some(crate::lease::Protection::Mark), || world.run());
    let wrong = world.account();
    assert!(wrong.iter().any(|what| what.contains("ran twice")), "{} ticks are wrong", wrong.len());
}
