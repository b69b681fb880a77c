use crate::view::testing::{Bench, FILE};

use super::super::tests::{healthy, messages};

#[tokio::test]
async fn a_job_that_replicas_know_by_another_file_alone_is_named() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.jobs[0].record.as_mut().expect("opened").schedule_hash.0 = "none".into();
    assert_eq!(messages(&snapshot, &bench), [""; 0], "some have this file, and are about to take it up");
    snapshot.peers.iter_mut().for_each(|peer| peer.beat.file = "old".into());
    let said = messages(&snapshot, &bench);
    let names = |said: &str| {
        said.starts_with("the replicas have another schedule for `backup` than this jobs.toml, or none")
    };
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
}

#[tokio::test]
async fn two_replicas_with_one_name_are_reported_and_missing_labels_are_not() {
    let text = FILE.replacen("[jobs.payout]", "[jobs.payout]\nonly_on = [\"gpu\"]", 1);
    let (_, mut snapshot) = healthy(FILE).await;
    let bench = Bench::new(&text).await;
    snapshot.jobs.iter_mut().zip(bench.jobs()).for_each(|(job, known)| job.definition = known.definition);
    assert!(messages(&snapshot, &bench)[0].contains("no live replica has the label `gpu`"));
    snapshot.peers[0].beat.name_taken = true;
    let said = messages(&snapshot, &bench);
    let names =
        |said: &str| said.starts_with("two replicas are named n1, and only one of them is shown: give each");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
}
