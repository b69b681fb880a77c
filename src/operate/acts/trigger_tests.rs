//! Orders that are taken, that wait, and that are withdrawn.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::job::{Outcome, Verdict};
use crate::operate::testing::{BenchStore, pass};
use crate::view::testing::{FILE, NOON, run_id};

use super::*;

/// The id of the order.
fn order_id() -> RunId {
    run_id(50)
}

/// Returns a cluster with a live replica, and an order for its job that is in the store.
async fn given() -> (Arc<BenchStore>, ManualOrder) {
    let store = BenchStore::served(FILE).await;
    store.bench.beat("n1", "f", &[]).await;
    let order = ManualOrder::plan(store.operator("backup"), order_id(), None).await.expect("n1 can take it");
    assert_eq!(order.give().await, Ok(()));
    (store, order)
}

#[tokio::test]
async fn an_order_waits_until_a_replica_has_taken_it() {
    let (store, mut order) = given().await;
    assert_eq!(order.step().await, Ok(None));
    let awaits = order.awaits(Instant::now());
    assert_eq!(
        awaits, "waiting for a replica to pick this up, until 2026-11-20 12:01:03 UTC at the latest",
        "for two leases"
    );
    store.take("backup", order_id(), 1).await;
    assert_eq!(order.step().await, Ok(Some(run_id(1))));
    assert_eq!(order.withdraw().await, Ok(Some(run_id(1))), "it is too late for that");
}

#[tokio::test]
async fn an_order_that_is_withdrawn_is_not_in_the_store_any_more() {
    let (store, mut order) = given().await;
    assert_eq!(order.withdraw().await, Ok(None));
    assert_eq!(store.record("backup").await.order, None);
    let gone = OperateError::OrderGone(order.operator.job.name.clone());
    assert_eq!(order.step().await, Err(gone));
}

#[tokio::test]
async fn an_order_that_another_one_replaced_is_gone() {
    let (store, mut order) = given().await;
    let other = ManualOrder::plan(store.operator("backup"), run_id(51), None).await.expect("n1 can take it");
    assert_eq!(other.give().await, Ok(()));
    assert!(matches!(order.step().await, Err(OperateError::OrderGone(_))));
}

#[tokio::test]
async fn an_order_is_for_the_tick_that_it_names() {
    let store = BenchStore::served(FILE).await;
    store.bench.beat("n1", "f", &[]).await;
    let tick = Some(Tick::at_millis(300_000));
    let order = ManualOrder::plan(store.operator("backup"), order_id(), tick).await.expect("n1 can take it");
    assert_eq!(store.record("backup").await.order, None, "it is only planned");
    assert_eq!(order.give().await, Ok(()));
    assert_eq!(store.record("backup").await.order_tick, tick);
}

#[tokio::test]
async fn an_order_for_a_tick_that_lies_ahead_is_refused() {
    let store = BenchStore::served(FILE).await;
    for (seconds, is_refused) in [(4, true), (298, true), (299, false), (300, false)] {
        store.bench.at(seconds);
        store.bench.beat("n1", "f", &[]).await;
        let (tick, now) = (Tick::at_millis(NOON + 300_000), store.bench.now());
        let planned = ManualOrder::plan(store.operator("backup"), order_id(), Some(tick)).await;
        let refused = is_refused.then_some(OperateError::TickAhead { tick, now });
        assert_eq!(planned.err(), refused, "{seconds} s after noon");
    }
}

#[tokio::test]
async fn an_order_for_an_instant_that_is_no_tick_is_refused_with_the_ticks_around_it() {
    let store = BenchStore::served(FILE).await;
    store.bench.beat("n1", "f", &[]).await;
    let plan = |operator, at| ManualOrder::plan(operator, order_id(), Some(Tick::at_millis(at)));
    for at in [NOON - 177_000, NOON - 177_001] {
        let Err(OperateError::NoTick { what, come }) = plan(store.operator("backup"), at).await else {
            panic!("{at} is a tick")
        };
        let around =
            "; it has one at Fri 2026-11-20 12:55:00 +01:00, the next at Fri 2026-11-20 13:00:00 +01:00";
        assert!(what.starts_with("`backup` has no tick at ") && what.ends_with(around), "{what}");
        assert_eq!(come, ["`2026-11-20T12:55:00.000+01:00`", "`2026-11-20T13:00:00.000+01:00`"]);
    }
    let Err(OperateError::NoTick { come, .. }) = plan(store.operator("backup"), NOON + 1).await else {
        panic!("it is a tick")
    };
    assert_eq!(come, ["`2026-11-20T13:00:00.000+01:00`"], "the next one has not come");
    assert_eq!(store.record("backup").await.order, None);
    let absent = plan(store.operator_of_absent("backup"), NOON - 177_000).await;
    assert!(absent.is_ok(), "its schedule is not known: {absent:?}");
}

#[tokio::test]
async fn an_order_for_a_tick_of_an_earlier_schedule_is_taken_if_the_history_has_it() {
    let store = BenchStore::served(FILE).await;
    store.bench.at(302);
    store.bench.beat("n1", "f", &[]).await;
    let tick = Tick::at_millis(NOON + 302_000);
    let plan = || ManualOrder::plan(store.operator("backup"), order_id(), Some(tick));
    assert!(matches!(plan().await, Err(OperateError::NoTick { .. })));
    let run = store.bench.win("backup", "n1", 1, 302).await;
    store.bench.finish("backup", run, Verdict::plain(Outcome::Failed), Some(3)).await;
    let planned = plan().await;
    assert!(planned.is_ok(), "{planned:?}");
}

#[tokio::test]
async fn an_order_that_no_replica_can_take_is_not_written() {
    let store = BenchStore::served(FILE).await;
    let planned = ManualOrder::plan(store.operator("backup"), order_id(), None).await;
    let why = "no live replica (no heartbeat within the last hour): nothing ran".to_owned();
    let help = Some("start one with `solocron run`".to_owned());
    assert_eq!(planned.expect_err("nobody is there"), OperateError::NoReplica { why, help });
}

#[tokio::test]
async fn an_order_that_no_replica_takes_is_withdrawn_in_the_end() {
    let (store, mut order) = given().await;
    pass(Duration::from_secs(61)).await;
    let within = Duration::from_secs(60);
    assert_eq!(order.step().await, Err(OperateError::NotTaken { within }));
    assert_eq!(store.record("backup").await.order, None);
}

#[tokio::test]
async fn an_order_that_is_taken_at_the_last_moment_has_its_run() {
    let (store, mut order) = given().await;
    pass(Duration::from_secs(61)).await;
    store.take("backup", order_id(), 1).await;
    assert_eq!(order.step().await, Ok(Some(run_id(1))));
}

#[tokio::test]
async fn an_outage_is_waited_out_and_extends_the_wait() {
    let (store, mut order) = given().await;
    store.set_away(true);
    assert_eq!(order.step().await, Ok(None));
    assert_eq!(order.awaits(Instant::now()), "the store does not answer: waiting for it, 1m at most");
    pass(Duration::from_secs(50)).await;
    assert_eq!(order.step().await, Ok(None));
    store.set_away(false);
    assert_eq!(order.step().await, Ok(None));
    pass(Duration::from_secs(50)).await;
    assert_eq!(order.step().await, Ok(None), "the outage does not count");
    let until = order.progress(Instant::now()).until;
    let planned = UtcMillis(1_795_176_003_000).plus(Duration::from_secs(60 + 50));
    assert!(until >= planned && until < planned.plus(Duration::from_secs(5)), "{until}");
}

#[tokio::test]
async fn an_order_is_announced_again_now_and_then() {
    let (store, mut order) = given().await;
    let before = store.notices.load(Ordering::Relaxed);
    for _ in 0..LOOKS_PER_NOTICE * 2 {
        assert_eq!(order.step().await, Ok(None));
    }
    assert_eq!(store.notices.load(Ordering::Relaxed) - before, 2);
}

#[tokio::test]
async fn a_reply_that_was_lost_is_found_out_by_withdrawing_the_order() {
    let (store, order) = given().await;
    store.set_away(true);
    assert!(order.give().await.is_err_and(|error| error.is_unreachable()));
    store.set_away(false);
    store.take("backup", order_id(), 1).await;
    assert_eq!(order.withdraw().await, Ok(Some(run_id(1))));
}

#[tokio::test]
async fn what_an_order_waits_for_decides_when_and_why_it_is_withdrawn() {
    let began = Instant::now();
    let (run, full) = ("run x is running".to_owned(), "every replica is full".to_owned());
    let hopeless = Prospect::Hopeless("nobody\n  help: start one".to_owned());
    let nobody = || Some(OperateError::NoReplica { why: "nobody".into(), help: Some("start one".into()) });
    let within = Duration::from_secs(15);
    for (prospect, since, seconds, outages, why) in [
        (Prospect::Open, None, 15, 0, None),
        (Prospect::Open, None, 16, 0, Some(OperateError::NotTaken { within })),
        (Prospect::Open, None, 16, 2, None),
        (Prospect::Waits(full.clone()), None, 15, 0, None),
        (Prospect::Waits(full.clone()), None, 16, 0, Some(OperateError::NotStarted { within, why: full })),
        (
            Prospect::WaitsForRun(run.clone()),
            None,
            16,
            0,
            Some(OperateError::NotStarted { within, why: run }),
        ),
        // Heartbeats may arrive a moment later.
        (hopeless.clone(), Some(5), 9, 0, None),
        (hopeless.clone(), Some(5), 10, 0, nobody()),
        (hopeless, Some(15), 16, 0, nobody()),
    ] {
        let at = |seconds| began + Duration::from_secs(seconds);
        let wait = OrderWait {
            began,
            at: UtcMillis(0),
            limit: within,
            prospect: prospect.clone(),
            hopeless_since: since.map(at),
        };
        let found = wait.why_over(Duration::from_secs(outages), at(seconds));
        assert_eq!(found, why, "{prospect:?} after {seconds} s");
    }
}

#[test]
fn what_has_to_come_first_is_named() {
    let first = Some("run x is running".to_owned());
    let progress = OrderProgress { first, until: UtcMillis(1_795_176_000_000) };
    let words = "waiting: run x is running, until 2026-11-20 12:00:00 UTC at the latest";
    assert_eq!(progress.to_string(), words);
}

#[tokio::test]
async fn an_order_that_was_taken_has_its_run_although_no_replica_is_left() {
    let (store, _) = given().await;
    store.take("backup", order_id(), 1).await;
    store.bench.at(7_200);
    let mut again =
        ManualOrder::plan(store.operator("backup"), order_id(), None).await.expect("it was taken");
    assert_eq!(again.give().await, Ok(()));
    assert_eq!(again.step().await, Ok(Some(run_id(1))));
    assert_eq!(store.record("backup").await.order, None, "nothing else is to run");
}

#[tokio::test]
async fn an_order_that_is_given_again_keeps_its_time_unless_it_is_void() {
    for (seconds, is_kept) in [(60, true), (64, false)] {
        let (store, _) = given().await;
        let before = store.record("backup").await.order_at;
        store.bench.at(seconds);
        store.bench.beat("n1", "f", &[]).await;
        let again =
            ManualOrder::plan(store.operator("backup"), order_id(), None).await.expect("n1 can take it");
        assert_eq!(again.give().await, Ok(()));
        let record = store.record("backup").await;
        let expected = if is_kept { before } else { Some(store.bench.now()) };
        assert_eq!((record.order, record.order_at), (Some(order_id()), expected), "{seconds} s after noon");
    }
}
