//! Replicas on a PostgreSQL server: the server crashes, its standby is promoted without the last writes, and a storm of faults.

mod pooler;
mod servers;
mod storm;

use std::collections::BTreeSet;

use pooler::Pooler;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::harness::{Cluster, number_of};
use crate::plan::Plan;
use crate::postgres_server::Postgres;
use crate::witness::{Violation, Witnessed, assert_safe, check};
use crate::{PATIENT, PERIOD_MS, assert_none_early, assert_shared_among, run_until_shared};

/// Replicas at this address run each tick once through an outage of it, and stop no run.
fn assert_runs_outlast(url: &str, outage: impl FnOnce(&mut Cluster)) {
    let keys = "lease = \"20s\"\nstart_deadline = \"60s\"";
    let mut cluster =
        Cluster::start(&Plan { jobs: 5, keys, run_ms: 300, skews_ms: &[0; 3], ..Plan::on(url) });
    cluster.wait_for_runs(2);
    outage(&mut cluster);
    cluster.wait_for_runs(3);
    let runs = cluster.stop();
    assert_safe(&runs, PERIOD_MS);
    assert!(runs.iter().all(|run| run.end_us.is_some()), "no run was stopped");
}

#[test]
fn three_replicas_on_postgresql_run_every_tick_exactly_once() {
    let server = Postgres::start_with_tables();
    let url = server.url();
    let plan = Plan { jobs: 10, keys: PATIENT, skews_ms: &[0; 3], ..Plan::on(&url) };
    let runs = run_until_shared(&plan).stop_and_check(PERIOD_MS);
    assert_shared_among(3, &runs);
    assert_none_early(&runs);
}

#[test]
fn a_crash_of_postgresql_neither_doubles_a_tick_nor_ends_a_run() {
    let mut server = Postgres::start_with_tables();
    assert_runs_outlast(&server.url(), |cluster| {
        server.stop();
        cluster.wait_for_message("store does not answer: no job starts until it does");
        server.start_again();
    });
}

#[test]
fn a_standby_that_is_promoted_without_its_last_writes_lets_no_tick_run_twice() {
    let mut primary = Postgres::start_with_tables();
    let standby = primary.standby();
    let url = primary.url_with(&standby);
    let keys = "lease = \"5s\"\nstart_deadline = \"60s\"";
    let mut cluster = Cluster::start(&Plan { jobs: 5, keys, skews_ms: &[0; 3], ..Plan::on(&url) });
    cluster.wait_for_runs(2);
    // From here on it receives nothing.
    standby.sql("alter system set primary_conninfo = ''");
    standby.sql("select pg_reload_conf()");
    cluster.wait_for_runs(2);
    primary.stop();
    standby.sql("select pg_promote()");
    cluster.wait_for_runs(3);
    let runs = cluster.stop();
    assert_safe(&runs, PERIOD_MS);
}

#[test]
fn through_a_pooler_that_is_restarted_every_tick_runs_once() {
    let server = Postgres::start_with_tables();
    let mut pooler = Pooler::of(&server);
    assert_runs_outlast(&pooler.url(), |cluster| {
        pooler.stop();
        cluster.wait_for_message("tick delayed: the store does not answer");
        pooler.start_again();
    });
}

#[test]
fn a_run_whose_end_is_refused_as_are_the_claims_of_all_others_is_not_run_again() {
    let server = Postgres::start_with_tables();
    let url = server.make_user("cron");
    let keys = "lease = \"5s\"\non_interrupt = \"rerun\"";
    let plan = Plan { jobs: 3, schedule: "*/10 * * * * *", keys, run_ms: 500, ..Plan::on(&url) };
    let mut cluster = Cluster::start(&Plan { skews_ms: &[0; 3], ..plan });
    cluster.wait_for_message("run started");
    // Heartbeats still reach the store.
    server.sql("revoke update on solocron.cells from cron");
    let mut refused = BTreeSet::new();
    while refused.len() < 9 {
        let (_, event) = cluster.wait_for_message("tick delayed: the store refuses the request");
        refused.insert((event["job"].to_string(), event["node"].to_string()));
    }
    server.sql("grant update on solocron.cells to cron");
    cluster.wait_for_ticks_after(SystemClock.utc().0);
    let runs = cluster.stop();
    assert_safe(&runs, PERIOD_MS);
}

/// Returns the runs of three replicas while the store takes heartbeats and refuses the end of a run, and all other writes of
/// its replica. They are taken again once the next tick waits for that run's lock.
fn runs_while_an_end_is_refused(off: Option<&str>) -> Vec<Witnessed> {
    let server = Postgres::start_with_tables();
    let users = ["cron0", "cron1", "cron2"];
    let flags = users.map(|user| format!("--store {}", server.make_user(user)));
    let flags = flags.each_ref().map(String::as_str);
    let keys = "lease = \"5s\"\non_interrupt = \"rerun\"";
    let url = server.url();
    let plan = Plan { schedule: "*/10 * * * * *", keys, run_ms: 2_000, flags: &flags, off, ..Plan::on(&url) };
    let mut cluster = Cluster::start(&Plan { skews_ms: &[0; 3], ..plan });
    let (_, started) = cluster.wait_for_message("run started");
    let (node, tick) = (started["node"].as_str().expect("a node"), started["tick"].as_str().expect("a tick"));
    let user = users[number_of(node)];
    server.sql(&format!("revoke update on solocron.cells from {user}"));
    let is_next = |event: &Value| event["tick"].as_str().is_some_and(|next| next > tick);
    cluster.wait_for("the next tick, which another replica runs or has to wait with", |event| {
        let message = event["message"].as_str().unwrap_or_default();
        is_next(event)
            && event["node"] != node
            && ["tick waits for the lock", "run started"].contains(&message)
    });
    server.sql(&format!("grant update on solocron.cells to {user}"));
    cluster.wait_for_ticks_after(SystemClock.utc().0);
    cluster.stop()
}

#[test]
fn a_run_whose_end_is_refused_to_its_replica_is_not_run_again() {
    assert_safe(&runs_while_an_end_is_refused(None), PERIOD_MS);
}

#[test]
fn without_the_list_of_live_runs_a_run_whose_end_is_refused_is_run_again() {
    let found = check(&runs_while_an_end_is_refused(Some("live-run")), PERIOD_MS);
    assert!(found.iter().any(|violation| matches!(violation, Violation::Twice { .. })), "{found:?}");
}
