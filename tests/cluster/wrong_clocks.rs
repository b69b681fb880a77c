//! The clock of a machine, with all its replicas and the embedded store, was ahead, and is set right.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::harness::Cluster;
use crate::plan::Plan;

const HOUR_MS: i64 = 3_600_000;
const DECADE_MS: i64 = 10 * 365 * 24 * HOUR_MS;

/// A lease, and what a busy machine may add to it.
const SOON: SignedDuration = SignedDuration::from_secs(5 + 5);

/// Three replicas, whose clocks are ahead by so much from the start.
fn three_ahead_by(ahead_ms: i64) -> Cluster {
    let keys = "lease = \"5s\"\nstart_deadline = \"3s\"";
    Cluster::start(&Plan { keys, skews_ms: &[ahead_ms; 3], ..Plan::on("local") })
}

fn tick_ms(event: &Value) -> i64 {
    let tick = event["tick"].as_str().and_then(|tick| tick.parse::<Timestamp>().ok());
    tick.expect("a tick").as_millisecond()
}

fn now_ms() -> i64 {
    SystemClock.utc().0
}

/// Waits for a run whose tick is this far ahead, or further.
fn wait_for_run_ahead_by(cluster: &mut Cluster, ahead_ms: i64) {
    cluster.wait_for("a run by the clock that is ahead", |event| {
        event["message"] == "run ended" && tick_ms(event) > now_ms() + ahead_ms / 2
    });
}

/// Jobs run again within a lease, and no tick was run twice or recorded before its time.
fn runs_again_soon(mut cluster: Cluster) {
    let right = SystemClock.boot();
    let is_of_now = |event: &Value| event["message"] == "run ended" && tick_ms(event) < now_ms() + 1_000;
    let since_ms = now_ms();
    for _ in 0..3 {
        cluster.wait_for("a run by the right clock", |event| is_of_now(event) && tick_ms(event) > since_ms);
    }
    let took = SystemClock.boot().since(right);
    assert!(took < SOON.unsigned_abs(), "{took:?}");

    let now = now_ms();
    for entry in cluster.history() {
        assert!(
            tick_ms(&entry) < now + 1_000 || !entry["run"].is_null(),
            "recorded before its time: {entry}"
        );
    }
    let mut ticks = BTreeSet::new();
    for run in cluster.stop() {
        assert!(ticks.insert(run.tick_ms), "run twice: {run:?}");
    }
}

#[test]
fn on_the_embedded_store_jobs_run_within_a_lease_once_the_clock_is_right_again() {
    for ahead_ms in [8_000, HOUR_MS, DECADE_MS] {
        let mut cluster = three_ahead_by(1);
        cluster.wait_for_runs(2);
        cluster.clock.step_to(ahead_ms);
        wait_for_run_ahead_by(&mut cluster, ahead_ms);
        cluster.clock.step_to(0);
        runs_again_soon(cluster);
    }
}

#[test]
fn on_the_embedded_store_jobs_run_within_a_lease_after_a_first_start_years_ahead() {
    let mut cluster = three_ahead_by(DECADE_MS);
    wait_for_run_ahead_by(&mut cluster, DECADE_MS);
    cluster.clock.step_to(-DECADE_MS);
    runs_again_soon(cluster);
}

#[test]
fn on_the_embedded_store_replicas_restarted_on_a_right_clock_run_within_a_lease() {
    let mut cluster = three_ahead_by(1);
    cluster.wait_for_runs(2);
    cluster.clock.step_to(HOUR_MS);
    wait_for_run_ahead_by(&mut cluster, HOUR_MS);
    cluster.clock.step_to(0);
    (0..3).for_each(|number| cluster.restart(number));
    runs_again_soon(cluster);
}
