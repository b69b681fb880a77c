//! Requests that arrive too late, jobs without a record, and files that replicas have loaded.

use std::sync::atomic::Ordering;

use crate::operate::testing::BenchStore;
use crate::view::testing::FILE;

use super::*;

#[tokio::test]
async fn a_request_that_arrives_too_late_is_sent_again_a_few_times() {
    let store = BenchStore::served(FILE).await;
    let operator = store.operator("backup");
    store.late.store(TRIES - 1, Ordering::Relaxed);
    assert_eq!(operator.act(&Act::Resume).await, Ok(Answer::AlreadyDecided));
    assert_eq!(store.notices.load(Ordering::Relaxed), 1);
    store.late.store(TRIES, Ordering::Relaxed);
    let label = "redis://bench".to_owned();
    assert_eq!(operator.act(&Act::Resume).await, Err(OperateError::TooLate { label }));
}

#[tokio::test]
async fn a_request_carries_the_name_of_its_operator() {
    let store = BenchStore::served(FILE).await;
    let act = Act::Pause { lasts: None, why: Some("month end".into()) };
    assert_eq!(store.operator("backup").act(&act).await, Ok(Answer::Noted));
    let record = store.record("backup").await;
    assert_eq!(
        (record.paused_by.as_deref(), record.paused_why.as_deref()),
        (Some("ann@db1"), Some("month end"))
    );
}

#[tokio::test]
async fn a_job_without_a_record_is_refused_with_what_is_known_about_it() {
    let store = BenchStore::served(FILE).await;
    for (operator, error) in [
        (store.operator("payout"), OperateError::NotOpened as fn(_) -> _),
        (store.operator("retired"), OperateError::Disabled),
        (store.operator_of_absent("gone"), OperateError::NotOpened),
    ] {
        let error = error(operator.job.name.clone());
        assert_eq!(operator.act(&Act::Resume).await, Err(error.clone()));
        assert_eq!(operator.record().await, Err(error));
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_named_in_the_error() {
    let store = BenchStore::served(FILE).await;
    store.set_away(true);
    let error = store.operator("backup").record().await.expect_err("it is away");
    assert!(error.is_unreachable());
    assert_eq!(error.to_string(), "store redis://bench: no answer");
}

#[tokio::test]
async fn a_job_is_unknown_if_each_live_replica_has_a_file_without_it() {
    let store = BenchStore::served(FILE).await;
    let absent = store.operator_of_absent("gone");
    assert_eq!(absent.is_unknown_to_replicas(Some("f")).await, Ok(false), "no replica is live");
    store.bench.beat("n1", "f", &[]).await;
    assert_eq!(absent.is_unknown_to_replicas(Some("f")).await, Ok(true));
    let unknown = OperateError::UnknownToReplicas(absent.job.name.clone());
    assert_eq!(absent.expect_known_to_replicas(Some("f")).await, Err(unknown));
    assert_eq!(absent.is_unknown_to_replicas(None).await, Ok(false), "there is no file at hand");
    assert_eq!(store.operator("backup").is_unknown_to_replicas(Some("f")).await, Ok(false));
    store.bench.beat("n2", "another", &[]).await;
    assert_eq!(absent.is_unknown_to_replicas(Some("f")).await, Ok(false), "n2 may know it");
}
