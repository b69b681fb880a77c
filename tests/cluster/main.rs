//! Replica processes race for the same ticks, and the jobs' own records tell whether each tick ran exactly once.
//!
//! `SOLOCRON_CLUSTER_SECONDS` makes the runs longer than the short form of `make test`.

#[path = "../support/c_program.rs"]
mod c_program;
#[path = "../support/dice.rs"]
mod dice;
mod faults;
mod harness;
mod labels;
mod lost_runs;
mod plan;
mod policies;
mod postgres;
#[expect(dead_code, reason = "what the tests of the fencing need besides")]
#[path = "../support/postgres_server.rs"]
mod postgres_server;
#[expect(dead_code, reason = "what the tests of the program need besides")]
#[path = "../support/process.rs"]
mod process;
#[expect(dead_code, reason = "what the tests of the stores need besides")]
#[path = "../support/redis_server.rs"]
mod redis_server;
mod rerun;
mod rolling;
#[expect(dead_code, reason = "what the campaign needs besides")]
#[path = "../support/shim.rs"]
mod shim;
#[path = "../support/variable.rs"]
mod variable;
mod witness;
mod wrong_clocks;

use std::collections::BTreeMap;

use harness::Cluster;
use plan::Plan;
use redis_server::RedisServer;
use witness::{Violation, Witnessed, check};

/// Every job has a tick every second.
const PERIOD_MS: i64 = 1_000;

/// On a machine that stands still for a while, ticks are late and not missed.
const PATIENT: &str = "start_deadline = \"60s\"";

/// How many ticks each job runs in the short form.
const SHORT: usize = 8;

fn seconds() -> usize {
    std::env::var("SOLOCRON_CLUSTER_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SHORT)
}

fn run(plan: &Plan<'_>) -> Cluster {
    let mut cluster = Cluster::start(plan);
    cluster.wait_for_runs(seconds());
    cluster
}

/// Runs until each replica has taken part: those that start at the same time wait for each other, and then one of them may
/// take all ticks for some seconds.
fn run_until_shared(plan: &Plan<'_>) -> Cluster {
    let mut cluster = run(plan);
    cluster.wait_for_each_replica();
    cluster
}

/// Runs per replica.
fn shares(runs: &[Witnessed]) -> BTreeMap<&str, usize> {
    let mut shares = BTreeMap::new();
    for run in runs {
        *shares.entry(run.node.as_str()).or_default() += 1;
    }
    shares
}

/// Every replica takes part. That shares are alike is a matter of ranks, which have tests of their own.
fn assert_shared_among(replicas: usize, runs: &[Witnessed]) {
    assert_eq!(shares(runs).len(), replicas, "{:?}", shares(runs));
}

/// Where no clock is wrong, nothing begins before its instant, though its lock may be granted before.
fn assert_none_early(runs: &[Witnessed]) {
    let early: Vec<_> = runs.iter().filter(|run| run.start_us < run.tick_ms * 1_000).collect();
    assert!(early.is_empty(), "{early:?}");
}

#[test]
fn five_replicas_on_one_redis_run_every_tick_exactly_once() {
    let redis = RedisServer::start();
    let runs =
        run_until_shared(&Plan { jobs: 10, keys: PATIENT, skews_ms: &[0; 5], ..Plan::on(&redis.url()) })
            .stop_and_check(PERIOD_MS);
    assert!(runs.len() >= 10 * (seconds() - 3), "{}", runs.len());
    assert_shared_among(5, &runs);
    assert_none_early(&runs);
}

#[test]
fn three_replicas_on_the_embedded_store_run_every_tick_exactly_once() {
    let runs = run_until_shared(&Plan { jobs: 10, keys: PATIENT, skews_ms: &[0; 3], ..Plan::on("local") })
        .stop_and_check(PERIOD_MS);
    assert_shared_among(3, &runs);
    assert_none_early(&runs);
}

#[test]
fn a_thousand_jobs_due_at_one_instant_lose_nothing() {
    let redis = RedisServer::start();
    let url = redis.url();
    let plan = Plan { jobs: 1_000, schedule: "*/30 * * * * *", skews_ms: &[0; 3], ..Plan::on(&url) };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for_runs(1);
    let runs = cluster.stop();
    assert_eq!(check(&runs, 30_000), []);
    assert_none_early(&runs);
    assert!(runs.len() >= 1_000, "{}", runs.len());
}

#[test]
fn clocks_two_seconds_off_neither_double_a_tick_nor_start_one_early() {
    let redis = RedisServer::start();
    let skews_ms = &[2_000, 0, -2_000, 0, 0];
    let runs = run(&Plan { jobs: 10, keys: PATIENT, run_ms: 50, skews_ms, ..Plan::on(&redis.url()) })
        .stop_and_check(PERIOD_MS);
    assert!(shares(&runs).contains_key("n0"), "the replica ahead takes part: {:?}", shares(&runs));
}

#[test]
fn without_the_mark_the_same_ticks_run_again_and_the_checker_sees_it() {
    if !cfg!(feature = "test-switches") {
        panic!("built without its switches: run `make test`, or add `--features test-switches`");
    }
    let redis = RedisServer::start();
    // A run that begins at its instant covers it, and who skips for that does not run the tick again.
    let (url, keys) = (redis.url(), "overlap = \"wait\"");
    let plan = Plan { jobs: 10, keys, skews_ms: &[0; 5], off: Some("mark"), ..Plan::on(&url) };
    let runs = run(&plan).stop();
    let twice = |violation: &Violation| matches!(violation, Violation::Twice { .. });
    assert!(check(&runs, PERIOD_MS).iter().any(twice), "{} runs, and no tick ran twice", runs.len());
}
