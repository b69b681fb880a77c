//! Jobs for replicas with labels, and replicas without room: who cannot run a tick sees to it all the same that it is not
//! missed in silence.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::Cluster;
use crate::plan::Plan;
use crate::redis_server::RedisServer;
use crate::witness::Witnessed;

/// How each tick of the first job, which comes so often, was decided, as often as it was.
fn decided(redis: &RedisServer, period_ms: usize) -> BTreeMap<i64, Vec<String>> {
    let history = redis.cli(&["XRANGE", "solocron:{test/job0}:runs", "-", "+"]);
    let words: Vec<&str> = history.lines().collect();
    let mut decided: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    let (mut tick, mut after) = (0, None);
    let number = |word: &str| word.parse::<i64>().expect("an instant");
    for pair in words.windows(2) {
        match pair[0] {
            "tick" => (tick, after) = (number(pair[1]), None),
            "after" => after = Some(number(pair[1])),
            "outcome" => {
                // It stands for the ticks after that instant, or for this one alone.
                let ticks = (after.unwrap_or(tick - 1) + 1..=tick).rev().step_by(period_ms);
                ticks.for_each(|tick| decided.entry(tick).or_default().push(pair[1].to_owned()));
            }
            _ => {}
        }
    }
    decided
}

fn is_missed(event: &Value, reason: &str) -> bool {
    event["message"] == "tick missed" && event["outcome"] == "missed" && event["reason"] == reason
}

#[test]
fn only_replicas_with_a_jobs_labels_run_it_and_without_one_its_ticks_are_missed() {
    let redis = RedisServer::start();
    let url = redis.url();
    let plan = Plan {
        keys: "only_on = [\"gpu\", \"eu\"]",
        flags: &["--label eu", "--label x --label gpu,eu"],
        skews_ms: &[0; 3],
        ..Plan::on(&url)
    };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for_runs(2);
    // What is recorded needs nobody to be waited for.
    cluster.wait_for_message("run recorded");
    cluster.kill("n1");
    for _ in 0..3 {
        cluster.wait_for("a missed tick", |event| is_missed(event, "no_replica"));
    }
    let said = "no live replica has the labels of these jobs: they do not run";
    let said = cluster.wait_for(said, |event| event["message"] == said);
    assert_eq!(
        (&said["labels"], &said["jobs"], &said["level"]),
        (&"gpu eu".into(), &"job0".into(), &"WARN".into())
    );

    let runs = cluster.stop();
    assert!(runs.iter().all(|run| run.node == "n1"), "{runs:?}");
    let decided = decided(&redis, 1_000);
    assert!(decided.values().all(|outcomes| outcomes.len() == 1), "{decided:?}");
    let ticks: Vec<i64> = decided.keys().copied().collect();
    assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == 1_000), "none is left out: {decided:?}");
}

#[test]
fn a_full_replica_starts_no_more_and_what_nobody_had_room_for_is_missed_once() {
    let redis = RedisServer::start();
    let url = redis.url();
    let plan = Plan {
        jobs: 2,
        schedule: "*/3 * * * * *",
        keys: "start_deadline = \"1s\"",
        run_ms: 3_500,
        flags: &["--max-running 1"],
        ..Plan::on(&url)
    };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for("a tick without room", |event| is_missed(event, "capacity"));
    cluster.wait_for("a skipped tick", |event| event["reason"] == "overlap" && event["outcome"] == "skipped");
    for _ in 0..2 {
        cluster.wait_for("a tick without room", |event| is_missed(event, "capacity"));
    }
    let mut runs = cluster.stop();
    runs.sort_by_key(|run| run.start_us);
    let follows = |pair: &[Witnessed]| pair[0].end_us.is_some_and(|end| end <= pair[1].start_us);
    assert!(runs.windows(2).all(follows), "one at a time: {runs:?}");
    let decided = decided(&redis, 3_000);
    assert!(decided.values().all(|outcomes| outcomes.len() == 1), "{decided:?}");
}

#[test]
fn what_a_full_replica_cannot_take_another_one_runs() {
    let redis = RedisServer::start();
    let url = redis.url();
    let plan = Plan {
        jobs: 2,
        schedule: "*/3 * * * * *",
        run_ms: 1_500,
        skews_ms: &[0; 2],
        flags: &["--max-running 1"; 2],
        ..Plan::on(&url)
    };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for_runs(4);
    let runs = cluster.stop_and_check(3_000);
    let mut ticks: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    runs.iter().for_each(|run| ticks.entry(run.tick_ms).or_default().push(&run.node));
    let is_shared = |nodes: &Vec<&str>| nodes.len() == 2 && nodes[0] != nodes[1];
    assert!(ticks.values().any(is_shared), "{ticks:?}");
    for node in ["n0", "n1"] {
        let mut its: Vec<_> = runs.iter().filter(|run| run.node == node).collect();
        its.sort_by_key(|run| run.start_us);
        let follows = |pair: &[&Witnessed]| pair[0].end_us.is_some_and(|end| end <= pair[1].start_us);
        assert!(its.windows(2).all(follows), "one at a time: {its:?}");
    }
}
