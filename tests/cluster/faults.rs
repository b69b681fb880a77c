//! What a replica does when the store goes away, comes back, forgets its lock, or gives it to another.

use jiff::{SignedDuration, Timestamp};
use solocron::time::{Clock, SystemClock};

use crate::PATIENT;
use crate::harness::Cluster;
use crate::plan::Plan;
use crate::redis_server::RedisServer;

/// The shortest lease there may be.
const LEASE: SignedDuration = SignedDuration::from_secs(5);
const SHORT_LEASE: &str = "lease = \"5s\"";

/// Where nobody waits for its end.
const LONGER_LEASE: &str = "lease = \"20s\"";
const LONGER_LEASE_S: i64 = 20;

/// A run that goes on until it is stopped, on a short lease.
fn long_run(store: &str) -> Plan<'_> {
    Plan { schedule: "*/2 * * * * *", keys: SHORT_LEASE, run_ms: 600_000, ..Plan::on(store) }
}

fn assert_lost(ended: &serde_json::Value) {
    assert_eq!(
        (ended["outcome"].as_str(), ended["reason"].as_str()),
        (Some("interrupted"), Some("lock_lost"))
    );
}

#[test]
fn a_holder_cut_off_from_redis_stops_its_run_within_its_lease_and_resumes_later() {
    let redis = RedisServer::start();
    let mut cluster = Cluster::start(&long_run(&redis.url()));
    cluster.wait_for_message("run started");
    let (renewed, _) = cluster.wait_for_message("lock renewed");
    redis.freeze();
    cluster.wait_for_message("lock lost: stopping the run");
    let (stopped, ended) = cluster.wait_for_message("run ended");
    assert_lost(&ended);
    let took = stopped.duration_since(renewed);
    assert!(took < LEASE, "{took}");
    redis.thaw();
    cluster.wait_for_message("run started");
    cluster.stop();
}

#[test]
fn a_cut_off_holder_with_slowed_clocks_stops_its_run_before_its_lease_expires() {
    const SLEW_PPM: i64 = -90_000;
    const LEASE: SignedDuration = SignedDuration::from_secs(30);
    let redis = RedisServer::start();
    let url = redis.url();
    let keys = "lease = \"30s\"\nkill_grace = \"0s\"";
    let mut cluster = Cluster::start(&Plan { keys, skews_ms: &[1], ..long_run(&url) });
    cluster.wait_for_message("run started");
    cluster.clock.slew_boot_clock(SLEW_PPM);
    let (renewed, _) = cluster.wait_for_message("lock renewed");
    redis.freeze();
    let (stopped, ended) = cluster.wait_for_message("run ended");
    assert_lost(&ended);
    let took = stopped.duration_since(renewed);
    assert!(took < LEASE, "{took}");
    redis.thaw();
    cluster.stop();
}

#[test]
fn a_lock_given_to_another_has_the_run_killed_at_the_next_renewal_without_a_grace() {
    let redis = RedisServer::start();
    let url = redis.url();
    let mut cluster = Cluster::start(&Plan { keys: LONGER_LEASE, ..long_run(&url) });
    let (started, _) = cluster.wait_for_message("run started");
    let far_above = "9000000000000000";
    redis.cli(&["HSET", "solocron:{test/job0}:state", "fence", far_above]);
    let (stopped, ended) = cluster.wait_for_message("run ended");
    assert_lost(&ended);
    let took = stopped.duration_since(started);
    assert_eq!(ended["signal"], 9, "{ended}");
    assert!(took < SignedDuration::from_secs(LONGER_LEASE_S), "{took}");
    cluster.stop();
}

#[test]
fn deleting_the_locks_mirror_harms_nothing_and_a_renewal_brings_it_back() {
    let redis = RedisServer::start();
    let url = redis.url();
    let mut cluster = Cluster::start(&Plan { keys: LONGER_LEASE, ..long_run(&url) });
    cluster.wait_for_message("run started");
    redis.cli(&["DEL", "solocron:{test/job0}:lock"]);
    let shown = || redis.cli(&["GET", "solocron:{test/job0}:lock"]);
    while !shown().starts_with("node=n0 run=") {
        cluster.wait_for_message("lock renewed");
    }
    let left: i64 = redis.cli(&["PTTL", "solocron:{test/job0}:lock"]).parse().expect("milliseconds");
    assert!((1..=1_000 * LONGER_LEASE_S).contains(&left), "{left}");
    let lost = cluster.said().any(|event| event["message"] == "lock lost: stopping the run");
    assert!(!lost, "the run goes on");
    cluster.stop();
}

#[test]
fn ticks_during_a_store_outage_run_once_after_it_within_their_start_deadline() {
    let redis = RedisServer::start();
    let mut cluster = Cluster::start(&Plan { keys: PATIENT, skews_ms: &[0; 3], ..Plan::on(&redis.url()) });
    cluster.wait_for_runs(3);
    redis.freeze();
    cluster.wait_for_messages(&[
        "tick delayed: the store does not answer",
        "store does not answer: no job starts until it does",
    ]);
    let back = SystemClock.utc().timestamp();
    redis.thaw();
    cluster.wait_for("a tick of after the outage", |event| {
        let tick = event["tick"].as_str().and_then(|tick| tick.parse::<Timestamp>().ok());
        event["message"] == "run ended" && tick.is_some_and(|tick| tick > back)
    });
    cluster.stop_and_check(1_000);
}

#[test]
fn a_replica_that_is_killed_in_mid_run_holds_its_job_up_for_a_lease_and_no_longer() {
    let redis = RedisServer::start();
    let url = redis.url();
    let plan = Plan { skews_ms: &[0; 2], ..long_run(&url) };
    let mut cluster = Cluster::start(&plan);
    let (started, first) = cluster.wait_for_message("run started");
    cluster.kill(first["node"].as_str().expect("a node"));
    let (again, second) = cluster.wait_for_message("run started");
    assert_ne!(first["node"], second["node"]);
    let took = again.duration_since(started);
    assert!(
        took > LEASE - SignedDuration::from_secs(1),
        "the lock was free while its run may have gone on: {took}"
    );
    let history = redis.cli(&["XRANGE", "solocron:{test/job0}:runs", "-", "+"]);
    assert!(history.contains("node_lost"), "{history}");
    cluster.stop();
}

#[test]
fn a_clock_that_differs_from_the_stores_is_said_and_the_store_is_gone_by() {
    let redis = RedisServer::start();
    let mut cluster = Cluster::start(&Plan { skews_ms: &[-1_500], ..Plan::on(&redis.url()) });
    let (_, said) =
        cluster.wait_for_message("wall clock differs from the store's: check NTP on both machines");
    let ahead = said["ahead_ms"].as_i64().expect("a number");
    // Half of what the answer took may be in it.
    assert!((-2_400..=-600).contains(&ahead), "{said}");
    assert_eq!(said["level"], "WARN");
    cluster.wait_for_runs(1);
    cluster.stop();
}
