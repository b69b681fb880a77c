//! What one process of a replica notes, and what the next one reads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::hold::lease_file::{LeaseFile, MAX_BYTES};
use crate::job::{ClusterName, JobName, NodeName};

use super::entry::tests::{ended, lease, running};

fn lease_file(folder: &Path, store: &str) -> LeaseFile {
    let cluster = ClusterName::parse("c").expect("name");
    LeaseFile::new(folder, &cluster, &NodeName::parse("n1").expect("name"), store.to_owned())
}

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("name")
}

#[tokio::test]
async fn another_life_finds_the_newest_note_of_each_job() {
    let folder = tempfile::tempdir().unwrap();
    let former = lease_file(folder.path(), "s");
    let (of_a, of_b) = (ended(lease(2), "out\n"), running(5));
    former.keep(&job("a"), running(1)).await;
    former.keep(&job("a"), of_a.clone()).await;
    former.keep(&job("b.json"), ended(lease(4), &"long ".repeat(100))).await;
    former.keep(&job("b.json"), of_b.clone()).await;
    // The end of a run that outlived a later grant brings no news.
    former.keep(&job("b.json"), ended(lease(4), "")).await;

    let life = lease_file(folder.path(), "s");
    let mut notes = life.read().await;
    notes.sort_by(|(a, _), (b, _)| a.cmp(b));

    assert_eq!(notes, [(job("a"), of_a.clone()), (job("b.json"), of_b)]);
    assert_eq!((life.note(&job("a")), life.jobs().len()), (Some(of_a), 2));
    let file = folder.path().join("leases/c/n1/a.json");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o640);
    let text = fs::read_to_string(folder.path().join("leases/c/n1/b.json.json")).unwrap();
    assert_eq!(text.lines().count(), 1, "nothing is left of longer notes: {text}");
}

#[tokio::test]
async fn what_cannot_be_read_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let former = lease_file(folder.path(), "s");
    for name in ["a", "b", "c"] {
        former.keep(&job(name), running(1)).await;
    }
    let files = folder.path().join("leases/c/n1");
    fs::write(files.join("a.json"), "{\"schema\":1,").unwrap();
    fs::write(files.join("b.json"), " ".repeat(2 * MAX_BYTES)).unwrap();
    // A longer note was there before, and its rest was not cut off.
    let longer = fs::read_to_string(files.join("c.json")).unwrap() + "\"tail\":\"rest\"}}\n";
    fs::write(files.join("c.json"), longer).unwrap();

    let notes = lease_file(folder.path(), "s").read().await;

    assert_eq!(notes.into_iter().map(|(job, _)| job).collect::<Vec<_>>(), [job("c")]);
    assert_eq!(lease_file(folder.path(), "another store").read().await, []);
}

#[tokio::test]
async fn a_disk_that_takes_nothing_stops_nothing_and_the_note_is_still_known() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("leases"), "in the way").unwrap();
    let lease_file = lease_file(folder.path(), "s");
    let note = running(1);

    lease_file.keep(&job("a"), note.clone()).await;

    assert_eq!(lease_file.note(&job("a")), Some(note));
    assert_eq!(lease_file.read().await, []);
    // The next write finds a working disk.
    fs::remove_file(folder.path().join("leases")).unwrap();
    lease_file.keep(&job("a"), running(2)).await;
    assert_eq!(lease_file.read().await.len(), 1);
}

#[tokio::test]
async fn what_is_forgotten_is_not_found_by_another_life() {
    let folder = tempfile::tempdir().unwrap();
    let former = lease_file(folder.path(), "s");
    let given_back = running(1);
    former.keep(&job("a"), given_back.clone()).await;
    former.keep(&job("b"), running(1)).await;
    former.keep(&job("c"), running(2)).await;

    former.forget_run(&job("a"), given_back.lease().run).await;
    former.forget_run(&job("b"), given_back.lease().run).await;
    former.forget(&job("c")).await;

    assert_eq!((former.note(&job("a")), former.jobs()), (None, vec![job("b")]));
    former.forget(&job("b")).await;
    assert_eq!(lease_file(folder.path(), "s").read().await, []);
}
