//! `on_interrupt = "rerun"`: a run that was cut short by its replica is run once more, by a survivor, as soon as its lock
//! allows, and never a third time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::harness::Cluster;
use crate::plan::Plan;
use crate::redis_server::RedisServer;
use crate::witness::Witnessed;

/// The shortest lease there may be.
const LEASE: SignedDuration = SignedDuration::from_secs(5);

/// What hearing of it, asking and starting may take on a busy machine.
const PROMPTLY: SignedDuration = SignedDuration::from_secs(10);

/// A run that goes on until it is stopped, on three replicas.
fn plan<'a>(store: &'a str, keys: &'a str) -> Plan<'a> {
    Plan { schedule: "*/20 * * * * *", keys, run_ms: 600_000, skews_ms: &[0; 3], ..Plan::on(store) }
}

const RERUN: &str = "lease = \"5s\"\non_interrupt = \"rerun\"";

/// Where nobody waits for the end of the lease: what is done promptly is done long before it.
const RERUN_AT_ONCE: &str = "lease = \"60s\"\nstart_deadline = \"60s\"\non_interrupt = \"rerun\"";

fn node(event: &Value) -> &str {
    event["node"].as_str().expect("a run has its node")
}

/// What the job of this run has written down as soon as it lived.
fn witnessed(cluster: &Cluster, started: &Value) -> Witnessed {
    let fence = started["fence"].as_i64().expect("it has a fence");
    let deadline = SystemClock.boot().plus(Duration::from_secs(60));
    loop {
        if let Some(run) = cluster.witnessed().into_iter().find(|run| run.fence == fence) {
            return run;
        }
        assert!(SystemClock.boot() < deadline, "the job of {started} does not write");
        std::thread::yield_now();
    }
}

/// Whether a process still does something.
fn is_alive(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|command| !command.is_empty())
}

/// The next run is the rerun of this one, on a survivor; tells when it started.
fn assert_rerun(cluster: &mut Cluster, first: &Value, of: &Witnessed) -> (Timestamp, Value) {
    let (at, rerun) = cluster.wait_for_message("run started");
    assert!(!is_alive(of.pid), "its run is dead before it is run once more");
    assert_eq!((rerun["cause"].as_str(), &rerun["tick"]), (Some("rerun"), &first["tick"]), "{rerun}");
    let witnessed = witnessed(cluster, &rerun);
    assert!(witnessed.fence > of.fence, "{witnessed:?} after {of:?}");
    assert_eq!((witnessed.attempt, witnessed.cause.as_str()), (2, "rerun"));
    assert_eq!((of.attempt, of.cause.as_str()), (1, "schedule"));
    (at, rerun)
}

/// The causes and endings of a tick in history.
fn told_of(cluster: &Cluster, tick: &Value) -> Vec<(String, String)> {
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let history = cluster.history();
    let its = history.iter().filter(|entry| entry["tick"] == *tick);
    its.map(|entry| (word(entry, "cause"), format!("{} {}", word(entry, "outcome"), word(entry, "reason"))))
        .collect()
}

fn words(told: &[(&str, &str)]) -> Vec<(String, String)> {
    told.iter().map(|(cause, ending)| ((*cause).to_owned(), (*ending).to_owned())).collect()
}

fn assert_a_killed_holders_run_is_rerun_once(store: &str) {
    let mut cluster = Cluster::start(&plan(store, RERUN));
    let (_, first) = cluster.wait_for_message("run started");
    let witnessed = witnessed(&cluster, &first);
    let killed = SystemClock.utc().timestamp();
    cluster.kill_with_guards(node(&first));
    let (again, rerun) = assert_rerun(&mut cluster, &first, &witnessed);
    assert_ne!(node(&rerun), node(&first));
    let took = again.duration_since(killed);
    assert!(took < LEASE + PROMPTLY, "no tick need come first: {took}");

    cluster.kill_with_guards(node(&rerun));
    let (_, next) = cluster.wait_for_message("run started");
    assert_eq!(next["cause"], "schedule", "there is no third time: {next}");
    assert!(next["tick"].as_str() > first["tick"].as_str());
    let twice = words(&[("schedule", "interrupted node_lost"), ("rerun", "interrupted node_lost")]);
    assert_eq!(told_of(&cluster, &first["tick"]), twice);
    cluster.stop();
}

#[test]
fn a_survivor_reruns_once_a_run_killed_with_replica_and_guard_on_redis() {
    assert_a_killed_holders_run_is_rerun_once(&RedisServer::start().url());
}

#[test]
fn a_survivor_reruns_once_a_run_killed_with_replica_and_guard_on_the_embedded_store() {
    assert_a_killed_holders_run_is_rerun_once("local");
}

fn assert_a_drained_holders_run_is_rerun(store: &str) {
    let mut cluster = Cluster::start(&plan(store, RERUN_AT_ONCE));
    let (_, first) = cluster.wait_for_message("run started");
    let witnessed = witnessed(&cluster, &first);
    cluster.drain_one(node(&first));
    let (stopped, ended) = cluster.wait_for_message("run ended");
    assert_eq!(
        (ended["outcome"].as_str(), ended["reason"].as_str()),
        (Some("interrupted"), Some("shutdown"))
    );
    let (again, rerun) = assert_rerun(&mut cluster, &first, &witnessed);
    assert_ne!(node(&rerun), node(&first), "who drains takes nothing");
    let took = again.duration_since(stopped);
    assert!(took < PROMPTLY, "its lock was released: {took}");
    assert_eq!(told_of(&cluster, &first["tick"])[0], words(&[("schedule", "interrupted shutdown")])[0]);
    cluster.stop();
}

#[test]
fn another_replica_reruns_at_once_a_run_that_a_drain_stopped_on_redis() {
    assert_a_drained_holders_run_is_rerun(&RedisServer::start().url());
}

#[test]
fn another_replica_reruns_at_once_a_run_that_a_drain_stopped_on_the_embedded_store() {
    assert_a_drained_holders_run_is_rerun("local");
}

#[test]
fn a_run_whose_replica_lost_its_lock_is_rerun_once_the_store_is_back() {
    let redis = RedisServer::start();
    let mut cluster = Cluster::start(&plan(&redis.url(), RERUN));
    let (_, first) = cluster.wait_for_message("run started");
    let witnessed = witnessed(&cluster, &first);
    redis.freeze();
    let (_, ended) = cluster.wait_for_message("run ended");
    assert_eq!(ended["reason"], "lock_lost");
    redis.thaw();
    let (_, rerun) = assert_rerun(&mut cluster, &first, &witnessed);
    // Nobody was to stop it: the end of its drain does, which is not a third time's beginning.
    let runs = cluster.stop();
    let its = |run: &&Witnessed| run.tick_ms == witnessed.tick_ms;
    assert_eq!(runs.iter().filter(its).count(), 2, "{rerun}: {runs:?}");
}

#[test]
fn with_skip_nothing_is_rerun() {
    let redis = RedisServer::start();
    let mut cluster = Cluster::start(&plan(&redis.url(), "lease = \"5s\""));
    let (_, first) = cluster.wait_for_message("run started");
    cluster.kill_with_guards(node(&first));
    let (_, next) = cluster.wait_for_message("run started");
    assert_eq!(next["cause"], "schedule", "{next}");
    assert!(next["tick"].as_str() > first["tick"].as_str());
    assert_eq!(told_of(&cluster, &first["tick"]), words(&[("schedule", "interrupted node_lost")]));
    cluster.stop();
}
