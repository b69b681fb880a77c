use super::super::super::testing::FILE;
use super::super::tests::{healthy, messages};

#[tokio::test]
async fn a_job_that_replicas_know_by_another_file_alone_is_named() {
    let (bench, mut survey) = healthy(FILE).await;
    survey.jobs[0].record.as_mut().expect("opened").sched.0 = "none".into();
    assert_eq!(messages(&survey, &bench), [""; 0], "some have this file, and are about to take it up");
    survey.peers.iter_mut().for_each(|peer| peer.beat.file = "old".into());
    let said = messages(&survey, &bench);
    let names = |said: &str| said.starts_with("`backup` runs by another schedule than here, or not at all");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
}
