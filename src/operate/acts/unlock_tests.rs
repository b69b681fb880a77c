//! Locks of holders that are silent, alive, forgotten, or gone.

use std::sync::Arc;

use crate::job::{Outcome, Verdict};
use crate::lease::Lease;
use crate::operate::testing::{BenchStore, entry_of, pass};
use crate::store::Store;
use crate::view::testing::{FILE, run_id};

use super::*;

/// Returns a cluster with a run of its job on n1, which has sent no heartbeat for 20 s.
async fn silent() -> (Arc<BenchStore>, Lease) {
    let store = BenchStore::served(FILE).await;
    store.bench.at(300);
    let lease = store.bench.win("backup", "n1", 1, 300).await;
    store.bench.beat("n1", "f", &[("backup", 1)]).await;
    store.bench.at(320);
    (store, lease)
}

/// Looks at the lock, and lets two heartbeats pass.
async fn looked_at(store: &Arc<BenchStore>) -> SilentLock {
    let lock = SilentLock::look(store.operator("backup")).await.expect("its holder is silent");
    pass(TWO_HEARTBEATS).await;
    lock
}

fn holder_alive(store: &Arc<BenchStore>, why: &str) -> OperateError {
    alive(&store.operator("backup").job.name, why.to_owned())
}

#[tokio::test]
async fn the_lock_of_a_silent_holder_is_released() {
    let (store, _) = silent().await;
    let lock = looked_at(&store).await;
    let risk = format!(
        "`backup` is locked by run {}, and n1 has sent no heartbeat for 20s. Its lock expires in 10s.\nIf \
         that machine only lost its network, its run may continue until then, and the next run would overlap \
         with it.",
        run_id(1)
    );
    assert_eq!((lock.risk(), lock.question()), (risk, "release the lock?"));
    assert_eq!(lock.awaits(), "waiting for a heartbeat of n1, 2s at most");
    let unlocked = lock.release().await.expect("it is silent");
    assert_eq!(unlocked, Unlocked::OfRun(run_id(1)));
    let words = format!("its lock is free; run {} is recorded as interrupted", run_id(1));
    assert_eq!(unlocked.to_string(), words);
    assert_eq!(entry_of(&store.operator("backup"), 1).await.outcome, Outcome::Interrupted);
}

#[tokio::test]
async fn a_lock_is_not_released_before_two_heartbeats_have_passed() {
    let (store, _) = silent().await;
    let lock = SilentLock::look(store.operator("backup")).await.expect("its holder is silent");
    let began = Instant::now();
    lock.release().await.expect("it stays silent");
    assert!(began.elapsed() + Duration::from_millis(100) >= TWO_HEARTBEATS, "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_lock_of_a_live_holder_is_kept() {
    let (store, _) = silent().await;
    store.bench.beat("n1", "f", &[("backup", 1)]).await;
    let looked = SilentLock::look(store.operator("backup")).await;
    let why = holder_alive(&store, "n1, which holds it, is alive");
    assert_eq!(looked.expect_err("it is alive"), why);
}

#[tokio::test]
async fn a_heartbeat_after_the_first_look_keeps_the_lock() {
    let (store, _) = silent().await;
    let lock = looked_at(&store).await;
    store.bench.at(321);
    store.bench.beat("n1", "f", &[("backup", 1)]).await;
    let why = holder_alive(&store, "n1, which holds it, sent a heartbeat just now");
    assert_eq!(lock.release().await, Err(why));
    assert!(store.record("backup").await.is_running());
}

#[tokio::test]
async fn a_renewal_without_a_heartbeat_keeps_the_lock() {
    let (store, lease) = silent().await;
    let lock = looked_at(&store).await;
    store.bench.renew("backup", &lease).await;
    let why = holder_alive(&store, "its holder has renewed the lock lately");
    assert_eq!(lock.release().await, Err(why));
}

#[tokio::test]
async fn a_run_that_ends_meanwhile_is_left_alone() {
    let (store, lease) = silent().await;
    let lock = looked_at(&store).await;
    store.bench.finish("backup", lease, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    assert_eq!(lock.release().await, Err(OperateError::EndedMeanwhile(run_id(1))));
}

#[tokio::test]
async fn a_lock_that_is_free_is_not_released() {
    let store = BenchStore::served(FILE).await;
    let not_locked = OperateError::NotLocked(store.operator("backup").job.name);
    let looked = SilentLock::look(store.operator("backup")).await;
    assert_eq!(looked.expect_err("nobody holds it"), not_locked);
}

#[tokio::test]
async fn the_wait_for_a_holder_that_the_store_forgot_is_ended() {
    let store = BenchStore::served(FILE).await;
    // Right after it was opened, the record waits for two seconds.
    store.bench.at(0);
    let lock = looked_at(&store).await;
    let risk = lock.risk();
    let words = "the lock of `backup` has no known holder, but is not free before 2026-11-20 12:00:0";
    assert!(risk.starts_with(words) && risk.ends_with("would overlap with it."), "{risk}");
    assert_eq!(lock.question(), "end the wait?");
    assert_eq!(lock.awaits(), "waiting for a holder that takes its lock back, 2s at most");
    let unlocked = lock.release().await.expect("it waits");
    assert_eq!(unlocked.to_string(), "its lock is free; the wait for it is over");
    assert_eq!(store.record("backup").await.locked_until, LeaseInstant::FREE);
}

#[tokio::test]
async fn who_holds_a_lock_is_told_as_far_as_it_is_known() {
    let (store, _) = silent().await;
    let (mut record, name) = (store.record("backup").await, store.operator("backup").job.name);
    let mut pulse = Store::pulse(&store.bench.store, None).await.expect("answers");
    pulse.peers.clear();
    let forgotten = SilentHolder::of(&name, &record, &pulse).expect("it is silent");
    let node = record.owner.take().expect("it was n1");
    let silence = Some((node, LastSign::Forgotten));
    assert_eq!(forgotten, SilentHolder::Run { run: run_id(1), silence });
    let unknown = SilentHolder::of(&name, &record, &pulse).expect("it is silent");
    assert_eq!(unknown, SilentHolder::Run { run: run_id(1), silence: None });
}

#[tokio::test]
async fn only_a_tick_of_the_schedule_is_said_to_be_rerun() {
    let file = FILE.replace("[jobs.backup]\n", "[jobs.backup]\non_interrupt = \"rerun\"\n");
    let store = BenchStore::served(&file).await;
    store.bench.at(300);
    store.bench.win("backup", "n1", 1, 300).await;
    store.bench.at(320);
    let mut lock = SilentLock::look(store.operator("backup")).await.expect("its holder is silent");
    assert!(lock.risk().contains("a rerun of the same tick would overlap with it"), "{}", lock.risk());
    lock.record.cause = Some(Cause::Manual);
    assert!(lock.risk().contains("the next run would overlap with it"), "{}", lock.risk());
}
