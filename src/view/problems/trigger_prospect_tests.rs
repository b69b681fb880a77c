//! Which manual runs can start, and what they wait for.

use std::sync::Arc;

use crate::store::Beat;
use crate::view::testing::{Bench, FILE, node, run_id};

use super::*;

async fn judged(bench: &Bench, job: &str) -> Prospect {
    let spec = Arc::clone(bench.spec(job));
    let snapshot = Snapshot::take(&bench.store, vec![Arc::clone(&spec).into()], 1).await.expect("answers");
    prospect(&spec, &snapshot)
}

fn hopeless(why: &str) -> Prospect {
    Prospect::Hopeless(why.to_owned())
}

/// A cluster of this file, with its job open and a live replica.
async fn served(file: &str) -> Bench {
    let bench = Bench::new(file).await;
    bench.open("backup").await;
    bench.at(3);
    bench.beat("n1", "f", &[]).await;
    bench
}

#[tokio::test]
async fn without_a_live_replica_nothing_can_run() {
    let bench = Bench::new(FILE).await;
    let nobody = "no live replica (no heartbeat within the last hour): nothing ran\n  help: start one with `solocron run`";
    assert_eq!(judged(&bench, "backup").await, hopeless(nobody));
    bench.beat("n1", "f", &[]).await;
    assert_eq!(judged(&bench, "backup").await, Prospect::Open);
    bench.at(120);
    let gone =
        "no live replica (n1, last heartbeat 2m ago): nothing ran\n  help: start one with `solocron run`";
    assert_eq!(judged(&bench, "backup").await, hopeless(gone));
    bench.beat_as(Beat { draining: true, ..Beat::of(node("n1"), run_id(90), "f".into(), bench.now()) }).await;
    let draining = "every live replica is draining: nothing ran\n  help: start one with `solocron run`";
    assert_eq!(judged(&bench, "backup").await, hopeless(draining));
}

#[tokio::test]
async fn a_job_whose_labels_no_live_replica_has_is_named_with_them() {
    let key = "command = [\"backup\"]\nonly_on = [\"gpu\", \"eu\"]";
    let bench = served(&FILE.replace("command = [\"backup\"]", key)).await;
    let why = "no live replica has all the labels `gpu`, `eu`: nothing ran\n  help: start one with `solocron run --label gpu,eu`";
    assert_eq!(judged(&bench, "backup").await, hopeless(why));
}

#[tokio::test]
async fn a_job_that_is_disabled_or_that_replicas_have_dropped_is_not_waited_for() {
    let disabled = "job `retired` is disabled (enabled = false)\n  help: enable it in the file";
    let bench = served(FILE).await;
    assert_eq!(judged(&bench, "retired").await, hopeless(disabled));
    let spec = bench.spec("backup");
    let mut snapshot = Snapshot::take(&bench.store, vec![Arc::clone(spec).into()], 1).await.expect("answers");
    let mut judged_with = |sched| {
        snapshot.jobs[0].record.as_mut().expect("it is open").schedule_hash = sched;
        match prospect(spec, &snapshot) {
            Prospect::Hopeless(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let dropped = judged_with(ScheduleHash::none());
    assert!(dropped.starts_with("the replicas' jobs.toml does not have job `backup`"), "{dropped}");
    let unknown = judged_with(ScheduleHash::default());
    assert!(unknown.starts_with("no replica has registered job `backup` yet"), "{unknown}");
}

#[tokio::test]
async fn replicas_of_different_files_may_have_what_one_of_them_dropped() {
    let bench = served(FILE).await;
    bench.beat("n2", "another", &[]).await;
    let spec = bench.spec("backup");
    let mut snapshot = Snapshot::take(&bench.store, vec![Arc::clone(spec).into()], 1).await.expect("answers");
    snapshot.jobs[0].record.as_mut().expect("it is open").schedule_hash = ScheduleHash::none();
    assert_eq!(prospect(spec, &snapshot), Prospect::Open);
}

#[tokio::test]
async fn a_run_that_holds_the_lock_is_named_as_overlap_says() {
    for (overlap, expected) in [
        ("skip", Prospect::Open),
        ("wait", Prospect::WaitsForRun("run 01939d2c-0000 on n1 is running (overlap = \"wait\")".into())),
        (
            "replace",
            Prospect::WaitsForRun("run 01939d2c-0000 on n1 is stopped first (overlap = \"replace\")".into()),
        ),
    ] {
        let key = format!("command = [\"backup\"]\noverlap = \"{overlap}\"");
        let bench = served(&FILE.replace("command = [\"backup\"]", &key)).await;
        bench.at(300);
        bench.win("backup", "n1", 1, 300).await;
        bench.beat("n1", "f", &[("backup", 1)]).await;
        assert_eq!(judged(&bench, "backup").await, expected);
        // Its holder is down, and another replica waits for the lock.
        bench.at(320);
        bench.beat("n2", "f", &[]).await;
        let silent =
            "run 01939d2c-0000 on n1 holds the lock, but sends no heartbeat: its lock expires within 30s";
        assert_eq!(judged(&bench, "backup").await, Prospect::Waits(silent.into()));
    }
}

#[tokio::test]
async fn a_lock_that_the_store_keeps_for_a_while_is_waited_for() {
    let bench = served(FILE).await;
    let spec = bench.spec("backup");
    let mut snapshot = Snapshot::take(&bench.store, vec![Arc::clone(spec).into()], 1).await.expect("answers");
    let until = bench.now().plus(std::time::Duration::from_secs(20));
    let record = snapshot.jobs[0].record.as_mut().expect("it is open");
    (record.locked_until, record.lease) = (LeaseInstant(until.0), spec.lease);
    let why = "the store was restarted or lost records, and a holder may still run: no start before 2026-11-20 12:00:23 UTC";
    assert_eq!(prospect(spec, &snapshot), Prospect::Waits(why.into()));
    let new = bench.spec("payout");
    snapshot.jobs[0].record.as_mut().expect("it is open").lease = std::time::Duration::from_secs(2);
    let why = "its record in the store is new: no start before 2026-11-20 12:00:23 UTC";
    assert_eq!(prospect(new, &snapshot), Prospect::Waits(why.into()));
}

#[tokio::test]
async fn replicas_that_are_full_are_waited_for() {
    let bench = served(FILE).await;
    bench.beat_as(Beat { full: true, ..Beat::of(node("n1"), run_id(90), "f".into(), bench.now()) }).await;
    let full = "every replica that could run it is full (max_running)";
    assert_eq!(judged(&bench, "backup").await, Prospect::Waits(full.into()));
}
