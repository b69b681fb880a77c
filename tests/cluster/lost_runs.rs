//! Runs of a replica that died: survivors record them once their locks are over, long before the next tick, and one of them logs it.

use jiff::fmt::strtime;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::harness::{Cluster, time_of};
use crate::plan::Plan;
use crate::redis_server::RedisServer;

/// Of the job's lock.
const LEASE: SignedDuration = SignedDuration::from_secs(5);

/// What noticing, asking and logging may take on a busy machine.
const PROMPTLY: SignedDuration = SignedDuration::from_secs(10);

/// All replicas are at work by then.
const SOON: SignedDuration = SignedDuration::from_secs(12);

/// What survivors log: the missing heartbeats and the expired lock of one replica, in whatever order they notice them.
const DOWN: &str = "replica is down: no heartbeat";
const INTERRUPTED: &str = "run interrupted: its replica was lost";

/// An expression with one tick in a year, soon.
fn once_a_year() -> String {
    let tick = SystemClock.utc().timestamp() + SOON;
    strtime::format("%-S %-M %-H %-d %-m *", tick).expect("a date")
}

fn logged<'a>(cluster: &'a Cluster, message: &'a str) -> impl Iterator<Item = Value> + 'a {
    cluster.said().filter(move |event| event["message"] == message)
}

fn assert_recorded_by_a_survivor(store: &str) {
    let schedule = once_a_year();
    let plan = Plan {
        schedule: &schedule,
        keys: "lease = \"5s\"",
        run_ms: 600_000,
        skews_ms: &[0; 3],
        ..Plan::on(store)
    };
    let mut cluster = Cluster::start(&plan);
    let (_, run) = cluster.wait_for_message("run started");
    let holder = run["node"].as_str().expect("a run has its node").to_owned();
    let killed: Timestamp = SystemClock.utc().timestamp();
    cluster.kill(&holder);

    cluster.wait_for_messages(&[DOWN, INTERRUPTED]);
    let down = logged(&cluster, DOWN).next().expect("it was waited for");
    assert_eq!((&down["peer"], &down["level"]), (&run["node"], &"WARN".into()), "{down}");
    let told = logged(&cluster, INTERRUPTED).next().expect("it was waited for");
    let took = time_of(&told).duration_since(killed);
    assert!(took < LEASE + PROMPTLY, "{took}");
    for field in ["job", "tick", "run", "fence", "cause"] {
        assert_eq!(told[field], run[field], "{field} of {told}");
    }
    let outcome = [&told["outcome"], &told["reason"], &told["holder"], &told["level"]];
    assert_eq!(outcome, ["interrupted", "node_lost", &holder, "WARN"], "{told}");
    assert_ne!(told["node"], told["holder"]);

    let history = cluster.history();
    let of_run: Vec<_> = history.iter().filter(|entry| entry["run"] == run["run"]).collect();
    assert_eq!(of_run.len(), 1, "{history:#?}");
    assert_eq!((&of_run[0]["outcome"], &of_run[0]["reason"]), (&told["outcome"], &told["reason"]));
    for message in [DOWN, INTERRUPTED] {
        assert_eq!(logged(&cluster, message).count(), 1, "one survivor logs it: {message}");
    }
    cluster.stop();
}

#[test]
fn one_survivor_logs_a_killed_replicas_run_when_its_lock_ends_on_redis() {
    assert_recorded_by_a_survivor(&RedisServer::start().url());
}

#[test]
fn one_survivor_logs_a_killed_replicas_run_when_its_lock_ends_on_the_embedded_store() {
    assert_recorded_by_a_survivor("local");
}

#[test]
fn the_run_of_a_replica_that_returns_at_once_without_its_state_is_recorded() {
    let redis = RedisServer::start();
    let (url, schedule) = (redis.url(), once_a_year());
    let keys = "lease = \"5s\"";
    let plan = Plan { schedule: &schedule, keys, run_ms: 600_000, skews_ms: &[0; 2], ..Plan::on(&url) };
    let mut cluster = Cluster::start(&plan);
    let (_, run) = cluster.wait_for_message("run started");
    let killed: Timestamp = SystemClock.utc().timestamp();
    cluster.kill_and_start_elsewhere(run["node"].as_str().expect("a run has its node"));
    let (at, told) = cluster.wait_for_message(INTERRUPTED);
    assert_eq!((&told["run"], &told["holder"]), (&run["run"], &run["node"]), "{told}");
    let took = at.duration_since(killed);
    assert!(took < LEASE + PROMPTLY, "{took}");
    assert_eq!(logged(&cluster, DOWN).count(), 0, "it was not for long");
    cluster.stop();
}

#[test]
fn a_run_by_hand_of_a_replica_that_was_killed_is_recorded_too() {
    let redis = RedisServer::start();
    let url = redis.url();
    let keys = "lease = \"5s\"";
    let plan = Plan { schedule: "@yearly", keys, run_ms: 600_000, skews_ms: &[0; 2], ..Plan::on(&url) };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for_message("store reached");
    let run = cluster.trigger("job0");
    let holder = run["node"].as_str().expect("a run has its node").to_owned();
    cluster.kill(&holder);
    let (_, told) = cluster.wait_for_message(INTERRUPTED);
    assert_eq!((&told["run"], &told["cause"]), (&run["run"], &"manual".into()), "{told}");
    cluster.stop();
}
