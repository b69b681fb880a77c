//! Runs that are stopped, and runs that do not end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::job::{Outcome, Reason, Verdict};
use crate::lease::Lease;
use crate::operate::testing::{BenchStore, entry_of, pass};
use crate::view::testing::{FILE, run_id};

use super::*;

const KILLED: Verdict = Verdict::because(Outcome::Killed, Reason::Operator);

/// Returns a cluster with a run of its job on n1.
async fn running() -> (Arc<BenchStore>, Lease) {
    let store = BenchStore::served(FILE).await;
    store.bench.at(300);
    let lease = store.bench.win("backup", "n1", 1, 300).await;
    store.bench.beat("n1", "f", &[("backup", 1)]).await;
    (store, lease)
}

#[tokio::test]
async fn a_run_is_waited_for_until_it_has_ended() {
    let (store, lease) = running().await;
    let operator = store.operator("backup");
    let mut order = KillOrder::give(operator.clone(), None).await.expect("it runs");
    assert_eq!(order.to_string(), format!("stopping run {} on n1", run_id(1)));
    assert_eq!(order.step().await, Ok(None));
    let awaits = order.awaits(Instant::now());
    assert_eq!(
        awaits,
        "waiting for the end of the run on n1: SIGKILL 10s after SIGTERM (kill_grace), 25s at most"
    );
    store.bench.finish("backup", lease, KILLED, None).await;
    let ended = order.step().await.expect("answers").expect("it has ended");
    assert_eq!(ended.to_string(), format!("run {}: killed (operator) on n1", run_id(1)));
    assert_eq!(ended, KilledRun { run: run_id(1), entry: Some(entry_of(&operator, 1).await) });
}

#[tokio::test]
async fn nothing_is_stopped_where_nothing_runs() {
    let store = BenchStore::served(FILE).await;
    let operator = store.operator("backup");
    let not_running = OperateError::NotRunning(operator.job.name.clone());
    assert_eq!(KillOrder::give(operator, None).await.expect_err("it is idle"), not_running);
}

#[tokio::test]
async fn a_run_that_is_named_is_stopped_only_if_it_is_the_current_one() {
    let (store, _) = running().await;
    let other = KillOrder::give(store.operator("backup"), Some(run_id(2))).await;
    assert!(matches!(other, Err(OperateError::NotRunning(_))), "{other:?}");
    assert_eq!(store.record("backup").await.stop_run, None);
    let order = KillOrder::give(store.operator("backup"), Some(run_id(1))).await.expect("it runs");
    assert_eq!(order.holder.run, run_id(1));
    assert_eq!(store.record("backup").await.stop_run, Some(run_id(1)));
}

#[tokio::test]
async fn the_request_is_repeated_now_and_then() {
    let (store, _) = running().await;
    let mut order = KillOrder::give(store.operator("backup"), None).await.expect("it runs");
    let before = store.acts.load(Ordering::Relaxed);
    for _ in 0..LOOKS_PER_ORDER * 2 {
        assert_eq!(order.step().await, Ok(None));
    }
    assert_eq!(store.acts.load(Ordering::Relaxed) - before, 2);
}

#[tokio::test]
async fn a_run_that_does_not_end_is_told_with_what_is_known_of_its_replica() {
    let (store, _) = running().await;
    for (seconds, sign) in [(300, LastSign::Live), (320, LastSign::Silent(Duration::from_secs(20)))] {
        store.bench.at(seconds);
        let mut order = KillOrder::give(store.operator("backup"), None).await.expect("it runs");
        pass(Duration::from_secs(26)).await;
        let still = OperateError::StillRunning {
            run: run_id(1),
            node: order.holder.node.clone(),
            within: Duration::from_secs(25),
            sign,
            lease: store.record("backup").await.lease,
        };
        assert_eq!(order.step().await, Err(still));
    }
}

#[tokio::test]
async fn an_outage_is_waited_out_and_extends_the_wait() {
    let (store, lease) = running().await;
    let mut order = KillOrder::give(store.operator("backup"), None).await.expect("it runs");
    store.set_away(true);
    assert_eq!(order.step().await, Ok(None));
    pass(Duration::from_secs(50)).await;
    assert_eq!(order.step().await, Ok(None), "the outage does not count");
    assert_eq!(order.awaits(Instant::now()), "the store does not answer: waiting for it, 1m at most");
    store.set_away(false);
    store.bench.finish("backup", lease, KILLED, None).await;
    let ended = order.step().await.expect("answers").expect("it has ended");
    assert!(ended.entry.is_some());
}

#[test]
fn what_is_known_without_the_jobs_definition_is_the_limit() {
    let progress = KillProgress {
        node: NodeName::parse("n1").expect("a name"),
        kill_grace: None,
        limit: UNKNOWN_GRACE + PATIENCE,
    };
    assert_eq!(progress.to_string(), "waiting for the end of the run on n1: 1m 15s at most");
}
