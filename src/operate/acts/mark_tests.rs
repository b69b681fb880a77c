//! Marks that lie in the future by one clock or by both.

use std::sync::Arc;

use crate::job::{Outcome, Verdict};
use crate::operate::testing::{BenchStore, StillClock};
use crate::view::testing::{FILE, NOON};

use super::*;

/// An hour after noon, which a clock that was ahead has shown.
const AHEAD: UtcMillis = UtcMillis(NOON + 3_600_000);

/// Returns a cluster whose mark lies an hour ahead, a minute after noon.
async fn ahead() -> Arc<BenchStore> {
    let store = BenchStore::served(FILE).await;
    store.bench.at(3_600);
    let lease = store.bench.win("backup", "n1", 1, 3_600).await;
    store.bench.finish("backup", lease, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    store.bench.at(60);
    store
}

#[tokio::test]
async fn a_mark_that_both_clocks_see_in_the_future_is_set_back() {
    let store = ahead().await;
    let clock = StillClock(store.bench.now());
    let look = MarkLook::of(store.operator("backup"), &clock).await.expect("answers");
    let MarkLook::Ahead(mark) = look else { panic!("{look:?}") };
    assert_eq!((mark.mark, mark.now), (AHEAD, store.bench.now()));
    let set = mark.set_back(&clock).await.expect("answers");
    assert_eq!(set.to_string(), "its mark of 2026-11-20 13:00:00 UTC is set back to now");
    assert!(store.record("backup").await.mark < AHEAD);
    let again = mark.set_back(&clock).await.expect("answers");
    assert_eq!(again.to_string(), "its mark no longer lies in the future");
}

#[tokio::test]
async fn a_mark_that_the_wall_clock_has_passed_shows_a_store_that_is_behind() {
    let store = ahead().await;
    let (now, wall) = (store.bench.now(), AHEAD.plus(std::time::Duration::from_secs(60)));
    let look = MarkLook::of(store.operator("backup"), &StillClock(wall)).await.expect("answers");
    let MarkLook::StoreBehind { mark, now: seen, wall: shown } = look else { panic!("{look:?}") };
    assert_eq!((mark, seen, shown), (AHEAD, now, wall));
}

#[tokio::test]
async fn a_mark_in_the_past_and_a_job_without_a_record_are_left_alone() {
    let store = BenchStore::served(FILE).await;
    for operator in [store.operator("backup"), store.operator("payout")] {
        let look = MarkLook::of(operator, &StillClock(store.bench.now())).await.expect("answers");
        assert!(matches!(look, MarkLook::NotAhead), "{look:?}");
    }
}
