//! A rolling restart under load: one replica after the other is drained and started again, round and round, while
//! twenty ticks come each second. Each of them runs once, as the jobs themselves tell.
//!
//! `make rolling` does it for a minute; `make test` for some seconds, or as many as `SOLOCRON_CLUSTER_SECONDS` says.

use std::collections::BTreeMap;

use solocron::time::{Clock, SystemClock};

use crate::harness::{Cluster, millis_of};
use crate::plan::Plan;
use crate::redis_server::RedisServer;
use crate::witness::{Witnessed, check};
use crate::{PERIOD_MS, shares};

/// Each has a tick every second.
const JOBS: usize = 20;

/// How many seconds of ticks are counted in the short form.
const SHORT: i64 = 8;

/// A tick that had to wait for the end of a drain (5 s) or of a lease (30 s) starts later than this.
const GAP_MS: i64 = 4_800;

fn seconds() -> i64 {
    std::env::var("SOLOCRON_CLUSTER_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SHORT)
}

/// Waits until this replica has run something of its own again.
fn wait_for_run_on(cluster: &mut Cluster, number: usize) {
    let node = format!("n{number}");
    cluster.wait_for("a run on the replica that was started again", |event| {
        event["message"] == "run ended" && event["node"] == *node
    });
}

/// A replica claims no tick that comes after it has said that it drains, until it is started again.
fn assert_no_tick_is_taken_in_a_drain(cluster: &Cluster) {
    let mut draining_since = BTreeMap::<String, i64>::new();
    for event in cluster.said() {
        let node = event["node"].as_str().unwrap_or_default().to_owned();
        match event["message"].as_str() {
            Some("draining: taking no new ticks") => {
                draining_since.insert(node, millis_of(&event, "timestamp"));
            }
            Some("replica started") => drop(draining_since.remove(&node)),
            Some("run started") => {
                let since = draining_since.get(&node).copied().unwrap_or(i64::MAX);
                assert!(millis_of(&event, "tick") <= since, "taken in the drain: {event}");
            }
            _ => {}
        }
    }
}

fn latest_ms(runs: &[Witnessed]) -> i64 {
    runs.iter().map(|run| run.start_us / 1_000 - run.tick_ms).max().unwrap_or_default()
}

#[test]
fn a_rolling_restart_under_load_misses_nothing_and_doubles_nothing() {
    let redis = RedisServer::start();
    let url = redis.url();
    let keys = "overlap = \"wait\"\nstart_deadline = \"10s\"";
    let plan = Plan { jobs: JOBS, keys, run_ms: 400, skews_ms: &[0; 3], ..Plan::on(&url) };
    let mut cluster = Cluster::start(&plan);
    for number in 0..3 {
        wait_for_run_on(&mut cluster, number);
    }
    cluster.wait_for_runs(1);

    let first_ms = SystemClock.utc().0.div_euclid(PERIOD_MS) * PERIOD_MS + PERIOD_MS;
    let end_ms = first_ms + seconds() * PERIOD_MS;
    let mut restarts = 0;
    while SystemClock.utc().0 < end_ms || restarts < 3 {
        cluster.restart(restarts % 3);
        wait_for_run_on(&mut cluster, restarts % 3);
        restarts += 1;
    }
    let last_ms = SystemClock.utc().0;
    cluster.wait_for_ticks_after(last_ms);
    assert_no_tick_is_taken_in_a_drain(&cluster);

    let mut runs = cluster.stop();
    runs.retain(|run| (first_ms..last_ms).contains(&run.tick_ms));
    assert_eq!(check(&runs, PERIOD_MS), []);
    runs.retain(|run| run.tick_ms < end_ms);
    let ticks = usize::try_from(seconds()).expect("a while") * JOBS;
    assert_eq!(runs.len(), ticks, "a run for each tick");
    assert!(runs.iter().all(|run| run.end_us.is_some()), "a drain has time for runs of this length");
    let shares = shares(&runs);
    assert_eq!(shares.len(), 3, "{shares:?}");
    assert!(latest_ms(&runs) < GAP_MS, "a tick waited for {} ms", latest_ms(&runs));
    println!(
        "{ticks} ticks, {} runs, {restarts} restarts, the latest start {} ms after its instant, {shares:?}",
        runs.len(),
        latest_ms(&runs)
    );
}
