//! What a node keeps of its runs, and for how long.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use solocron::config::LogRetention;
use solocron::job::Outcome;
use solocron::run::{JobOutput, Launch, StopReason};
use solocron::time::UtcMillis;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bench::{Bench, LONG, NOON, eventually, logs_at, run, shell};

/// Keeps all that these tests write.
const GENEROUS: LogRetention =
    LogRetention { keep: Duration::from_secs(3600), keep_runs: 100, max_bytes: 1 << 30 };

#[tokio::test]
async fn a_run_is_found_from_its_first_moment_and_after_its_end() {
    let bench = Bench::new();
    let launch = shell("echo ready; exec sleep 600");
    let Launch { identity, .. } = &launch;
    assert_eq!(bench.logs.last_run(&identity.job).unwrap(), None);

    let going = bench.start(&launch);
    going.printed("ready").await;
    let running = bench.logs.last_run(&identity.job).unwrap().expect("it goes on");
    assert_eq!((running.run, running.outcome.as_str(), running.finished), (identity.run, "running", None));
    assert_eq!(bench.logs.find(identity.run).unwrap(), Some(running.clone()));

    bench.clock.store(NOON + 5_000, Ordering::Relaxed);
    going.stop(StopReason::Operator, LONG);
    going.end().await;
    let ended = bench.logs.last_run(&identity.job).unwrap().expect("it is in the journal");
    assert_eq!((ended.run, ended.outcome.as_str(), ended.signal), (identity.run, "killed", Some(15)));
    assert_eq!((ended.started, ended.finished), (UtcMillis(NOON), Some(UtcMillis(NOON + 5_000))));
    assert_eq!(ended.tail.as_deref(), Some("ready\n"));
    let log = bench.path("state").join(ended.log.as_ref().expect("it was not silent"));
    assert_eq!(log, bench.logs.log_path(&identity.job, identity.run));
    assert_eq!(bench.logs.find(identity.run).unwrap(), Some(ended));
    assert_eq!(fs::read_dir(log.parent().unwrap()).unwrap().count(), 1, "the log alone is left");
}

#[tokio::test]
async fn a_silent_run_has_no_log_in_the_journal_and_the_newest_run_is_the_last() {
    let bench = Bench::new();
    let (first, second) = (shell("echo words"), shell("true"));
    bench.run(&first).await;
    bench.clock.store(NOON + 1, Ordering::Relaxed);
    bench.run(&second).await;
    let last = bench.logs.last_run(&first.identity.job).unwrap().expect("it ran");
    assert_eq!((last.run, last.log), (second.identity.run, None));
    assert!(bench.logs.find(first.identity.run).unwrap().expect("it ran").log.is_some());
}

#[tokio::test]
async fn a_run_whose_replica_crashed_is_found_as_interrupted() {
    let bench = Bench::new();
    let launch = shell("true");
    // The kernel closes the files of a process that dies, and so does this.
    drop(bench.logs.begin(&launch.identity).await);
    let find = || bench.logs.last_run(&launch.identity.job).unwrap().expect("its sign is there");
    // A job that another test starts just now holds a copy of the file between its fork and its exec.
    let left =
        eventually("the free lock", || Some(find()).filter(|run| run.outcome != Outcome::Running)).await;
    assert_eq!((left.run, left.outcome), (launch.identity.run, Outcome::Interrupted));
    assert_eq!(left.reason.map(|reason| reason.as_str()), Some("node_lost"));
}

#[tokio::test]
async fn replicas_that_share_a_state_directory_lose_no_line_of_the_journal() {
    let bench = Bench::new();
    let mut replicas = JoinSet::new();
    for _ in 0..2 {
        let logs = logs_at(bench.folder.path(), &bench.clock);
        replicas.spawn(async move {
            for _ in 0..40 {
                let (_stops, orders) = watch::channel(None);
                run(&logs, &shell("printf '%4000d' 1"), JobOutput::File, orders).await;
            }
        });
    }
    while let Some(ended) = replicas.join_next().await {
        ended.unwrap();
    }
    let journal = fs::read_to_string(bench.path("state/runs.jsonl")).unwrap();
    let runs: std::collections::HashSet<String> = journal
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a whole line")["run"].to_string())
        .collect();
    assert_eq!((journal.lines().count(), runs.len()), (80, 80));
}

#[tokio::test]
async fn old_logs_go_and_the_log_of_a_running_run_stays() {
    let bench = Bench::new();
    let (old, new) = (shell("echo old"), shell("echo new"));
    bench.run(&old).await;
    let going = bench.start(&shell("echo ready; exec sleep 600"));
    going.printed("ready").await;
    bench.run(&new).await;
    let path = |launch: &Launch| bench.logs.log_path(&launch.identity.job, launch.identity.run);
    let written = Timestamp::try_from(fs::metadata(path(&new)).unwrap().modified().unwrap()).unwrap();
    let now = UtcMillis::from_timestamp(written);
    let long_ago = now.minus(2 * GENEROUS.keep).timestamp();
    for file in [&path(&old), &going.log, &going.log.with_extension("running")] {
        fs::File::open(file).unwrap().set_modified(long_ago.into()).unwrap();
    }
    bench.clock.store(now.0, Ordering::Relaxed);

    bench.logs.prune(GENEROUS).await;
    assert!(!path(&old).exists());
    assert!(path(&new).exists());
    assert!(going.log.exists());
    going.stop(StopReason::Operator, LONG);
    going.end().await;
}

#[tokio::test]
async fn pruning_does_something_once_a_minute_and_drops_the_lines_of_deleted_logs() {
    let bench = Bench::new();
    let none = LogRetention { keep_runs: 0, ..GENEROUS };
    let (first, second) = (shell("echo one"), shell("echo two"));
    let is_kept = |launch: &Launch| bench.logs.find(launch.identity.run).unwrap().is_some();
    bench.run(&first).await;
    bench.logs.prune(none).await;
    assert!(!is_kept(&first) && bench.log_of(&first).is_empty());

    bench.run(&second).await;
    bench.clock.store(NOON + 59_999, Ordering::Relaxed);
    bench.logs.prune(none).await;
    assert!(is_kept(&second) && !bench.log_of(&second).is_empty());
    bench.clock.store(NOON + 60_000, Ordering::Relaxed);
    bench.logs.prune(none).await;
    assert!(bench.log_of(&second).is_empty());
}
