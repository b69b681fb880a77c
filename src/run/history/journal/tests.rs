//! Tests of the journal, each on a `Disk` of its own.

use futures_util::future::join_all;

use crate::config::LogRetention;
use crate::run::history::run_entry::tests::entry;

use super::*;

const POLICY: LogRetention =
    LogRetention { keep: Duration::from_secs(100), keep_runs: 2, max_bytes: u64::MAX };

fn jobs_and_times(journal: &Journal) -> Vec<(String, i64)> {
    let entries = journal.entries().unwrap();
    entries.map(|entry| (entry.job.to_string(), entry.finished.unwrap().0)).collect()
}

#[tokio::test]
async fn a_torn_line_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), Disk::default());
    assert_eq!(jobs_and_times(&journal), []);
    journal.append(&entry("a", 1)).await.unwrap();
    let whole = fs::read(&journal.path).unwrap();
    fs::write(&journal.path, [whole.as_slice(), &whole[..whole.len() / 2]].concat()).unwrap();
    journal.append(&entry("b", 2)).await.unwrap();
    assert_eq!(jobs_and_times(&journal), [("a".into(), 1), ("b".into(), 2)]);
}

#[tokio::test]
async fn a_journal_that_another_process_holds_is_given_up_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), Disk::default());
    let other = log_file::options().open(&journal.lock).unwrap();
    other.lock().unwrap();
    let error = journal.append(&entry("a", 1)).await.expect_err("it is held");
    assert!(error.to_string().contains("runs.lock` is held by another process for over 2 s"), "{error}");
    other.unlock().unwrap();
    journal.append(&entry("b", 2)).await.unwrap();
    assert_eq!(jobs_and_times(&journal), [("a".into(), 1), ("b".into(), 2)], "the first one comes late");
}

#[tokio::test]
async fn entries_that_come_together_are_all_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), Disk::default());
    let jobs: Vec<String> = (0..50).map(|number| format!("job{number}")).collect();
    let entries: Vec<_> = jobs.iter().map(|job| entry(job, 1)).collect();
    for appended in join_all(entries.iter().map(|entry| journal.append(entry))).await {
        appended.unwrap();
    }
    let mut noted: Vec<String> = jobs_and_times(&journal).into_iter().map(|(job, _)| job).collect();
    noted.sort();
    let mut expected = jobs;
    expected.sort();
    assert_eq!(noted, expected);
}

#[tokio::test]
async fn of_too_many_entries_that_cannot_be_written_the_newest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), Disk::default());
    // A folder at the file's path makes every write fail.
    fs::create_dir(&journal.path).unwrap();
    for finished in 0..=i64::try_from(LATE_LINES).unwrap() {
        journal.append(&entry("a", finished)).await.expect_err("it is a folder");
    }
    fs::remove_dir(&journal.path).unwrap();
    let policy = LogRetention { keep_runs: u32::MAX, ..POLICY };
    journal.compact(policy, UtcMillis(0)).await.unwrap();
    let noted = journal.entries().unwrap().map(|entry| entry.finished.unwrap().0);
    assert_eq!(noted.min(), Some(1), "without another run to be noted");
}

#[tokio::test]
async fn compaction_keeps_the_newest_runs_of_each_job_and_drops_torn_lines() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), Disk::default());
    for (job, finished) in [("a", 1_000), ("b", 150_000), ("a", 160_000), ("a", 170_000), ("a", 180_000)] {
        journal.append(&entry(job, finished)).await.unwrap();
    }
    LogFile::open(&journal.path).unwrap().append(b"{\"job\":\n").unwrap();
    journal.compact(POLICY, UtcMillis(200_000)).await.unwrap();
    assert_eq!(
        jobs_and_times(&journal),
        [("b".into(), 150_000), ("a".into(), 170_000), ("a".into(), 180_000)]
    );
    assert_eq!(lines(&journal.path).unwrap().count(), 3);
}
