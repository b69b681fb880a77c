//! Two servers that both are primaries for a while, each with replicas of its own: what no lock can promise anything for.
//! Afterwards all is well again, and `min-replicas-to-write` keeps it from happening.

use std::time::Duration;

use tempfile::TempDir;

use crate::checker::check;
use crate::evidence::Evidence;
use crate::fault::{Fault, Kind};
use crate::jobs::JobPlan;
use crate::pause::pause;
use crate::scripts::{let_them_run, quick_jobs, wait_until};
use crate::violation::Violation;
use crate::world::{Setup, World, now_ms};

/// How long both serve: whoever fails over waits for a lease.
const BOTH: Duration = Duration::from_secs(12);

/// And how long everything is watched afterwards.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// A run of before, and its lock, may go on this long.
const OVER_MS: i64 = 15_000;

/// A script that a machine made fail which stood still is played again.
const TRIES: usize = 3;

/// A primary that nobody has followed for this long does not accept anything, in seconds.
const ALONE: &str = "1";
const ALONE_AND_MORE: Duration = Duration::from_secs(4);
const CUT_MS: i64 = 4_500;

fn world() -> World {
    let Setup { mut jobs, .. } = quick_jobs();
    jobs.iter_mut().for_each(|job| job.start_deadline_ms = 3_000);
    jobs.push(JobPlan { manners: &["stubborn"], ..JobPlan::new("long", 2_000, 4_000) });
    let mut world = World::start(&Setup { jobs, replicas: 3, ..Setup::default() });
    wait_until("the standby to follow", || world.standby().is_following());
    let_them_run(&mut world);
    world
}

/// Cuts the servers apart; after so long the follower leads, for one of the replicas. From when to when both serve.
fn split(world: &mut World, after: Duration) -> (i64, i64) {
    world.link.cut();
    pause(after);
    let begun_ms = now_ms();
    world.standby().lead();
    let other = world.standby().port();
    world.proxies[2].point_at(other);
    pause(BOTH);
    world.fail_over();
    (begun_ms, now_ms())
}

/// What is wrong with it, where nothing is judged by whether it ran while both served.
fn judged(evidence: Evidence, (begun_ms, ended_ms): (i64, i64)) -> Vec<Violation> {
    let fault = Fault { kind: Kind::Failover, target: "both".into(), begun_ms, ended_ms };
    check(&Evidence { faults: vec![fault], ..evidence })
}

/// Only what came so late that nothing of before is left.
fn since(mut evidence: Evidence, from_ms: i64) -> Evidence {
    evidence.runs.retain(|run| run.started_utc_ms >= from_ms && run.tick_ms >= from_ms);
    evidence.entries.retain(|entry| entry.begins_after() >= from_ms);
    // Both servers' records of a tick that was run twice are in one of them now.
    evidence.contradictions.clear();
    Evidence { from_ms, ..evidence }
}

/// Plays until nothing is wrong, as long as the machine stood still by itself meanwhile.
fn assert_well(play: impl Fn() -> (Vec<Violation>, Vec<(i64, i64)>, TempDir)) {
    for _ in 0..TRIES {
        let (violations, held_up, folder) = play();
        if violations.is_empty() {
            return;
        }
        let kept = folder.keep();
        assert!(!held_up.is_empty(), "{violations:?}; kept in {}", kept.display());
        println!("played again: {violations:?}, and everything stood still at {held_up:?}");
    }
    panic!("the machine stood still {TRIES} times in a row");
}

#[test]
fn after_two_primaries_served_at_once_all_is_well_again() {
    assert_well(|| {
        let mut world = world();
        let both = split(&mut world, Duration::ZERO);
        pause(AFTERWARDS);
        let (evidence, folder) = world.finish();
        let meanwhile = judged(evidence.clone(), both);
        let is_twice = |violation: &Violation| violation.name() == "twice";
        assert!(meanwhile.iter().any(is_twice), "both did not serve: {meanwhile:?}");
        let held_up = evidence.held_up_ms.clone();
        let from_ms = both.1 + OVER_MS;
        let mut afterwards = judged(since(evidence, from_ms), both);
        // What a tick was skipped for may have begun before.
        let is_near = |tick_ms: i64| tick_ms < from_ms + OVER_MS;
        afterwards
            .retain(|it| !matches!(it, Violation::SkippedForNothing { tick_ms, .. } if is_near(*tick_ms)));
        (afterwards, held_up, folder.expect("nobody has taken it"))
    });
}

#[test]
fn a_primary_that_wants_a_follower_does_not_serve_beside_another_one() {
    assert_well(|| {
        let mut world = world();
        let rules = ["CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", ALONE];
        let _: String = world.server().ask(&rules);
        let both = split(&mut world, ALONE_AND_MORE);
        pause(AFTERWARDS);
        let (evidence, folder) = world.finish();
        let held_up = evidence.held_up_ms.clone();
        (judged(evidence, (both.0 - CUT_MS, both.1)), held_up, folder.expect("nobody has taken it"))
    });
}
