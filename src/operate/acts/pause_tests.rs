//! Pauses with and without an end, and what they say.

use crate::operate::testing::BenchStore;
use crate::view::testing::FILE;

use super::*;

#[tokio::test]
async fn a_pause_tells_its_end_and_that_a_run_goes_on() {
    let store = BenchStore::served(FILE).await;
    let operator = store.operator("backup");
    let paused = pause(&operator, None, None).await.expect("answers");
    assert_eq!(paused.to_string(), "is paused until `solocron resume backup`");
    assert_eq!((paused.until, paused.is_running), (None, false));
    resume(&operator).await.expect("answers");
    store.bench.at(300);
    store.bench.win("backup", "n1", 1, 300).await;
    let paused = pause(&operator, Some(Duration::from_secs(7_200)), None).await.expect("answers");
    assert_eq!(paused.to_string(), "is paused until 2026-11-20 14:05:00 UTC (for 2h)");
    assert!(paused.is_running);
}

#[tokio::test]
async fn a_job_is_resumed_once() {
    let store = BenchStore::served(FILE).await;
    let operator = store.operator("backup");
    pause(&operator, None, Some("month end".into())).await.expect("answers");
    for resumed in [Resumed::NoLongerPaused, Resumed::WasNotPaused] {
        assert_eq!(resume(&operator).await, Ok(resumed));
        assert_eq!(store.record("backup").await.paused, None);
    }
    assert_eq!(Resumed::NoLongerPaused.to_string(), "is no longer paused");
    assert_eq!(Resumed::WasNotPaused.to_string(), "was not paused");
}

#[test]
fn a_reason_is_one_short_line() {
    assert_eq!(read_reason(" month end "), Ok("month end".to_owned()));
    assert!(read_reason(" ").is_err());
    assert!(read_reason("a\nb").is_err_and(|why| why.contains("one line")));
    assert!(read_reason(&"x".repeat(201)).is_err_and(|why| why.contains("201")));
}
