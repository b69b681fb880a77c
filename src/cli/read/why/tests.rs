//! What `why` prints about ticks of every kind.

use crate::job::{Outcome, Reason, Verdict};
use crate::view::testing::{Bench, FILE};

use super::*;

async fn why(bench: &Bench, job: &str, time: &str) -> String {
    let time = When::read(time).expect("a time");
    let jobs = bench.jobs().into_iter().filter(|known| known.name.as_str() == job).collect();
    let snapshot = Snapshot::take(&bench.store, jobs, KEPT_ENTRIES).await.expect("answers");
    time.explain(&snapshot.jobs[0], &snapshot).expect("there is such a time")
}

/// A cluster at noon, whose ticks of noon have not been decided.
async fn bench() -> Bench {
    let bench = Bench::new(FILE).await;
    bench.at(-600);
    bench.open("backup").await;
    bench.open("payout").await;
    bench.at(0);
    bench
}

#[tokio::test]
async fn a_run_is_told_with_how_it_ended_where_and_after_how_long() {
    let bench = bench().await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.at(302);
    assert_eq!(
        why(&bench, "backup", "13:05").await,
        "`backup`, tick of Fri 2026-11-20 13:05:00 +01:00: its run has been running on n1 for 2s (run 01939d2c-0000)"
    );
    bench.finish("backup", run, Verdict::plain(Outcome::Failed), Some(3)).await;
    assert_eq!(
        why(&bench, "backup", "2026-11-20T12:05:00Z").await,
        "`backup`, tick of Fri 2026-11-20 13:05:00 +01:00: its run on n1 failed with exit code 3 after 2s (run 01939d2c-0000)"
    );
    bench.at(600);
    let run = bench.win("backup", "n2", 2, 600).await;
    bench.at(610);
    let lost = Verdict::because(Outcome::Interrupted, Reason::LockLost);
    bench.finish("backup", run, lost, None).await;
    let told = why(&bench, "backup", "13:10").await;
    assert!(
        told.ends_with("on n2 was interrupted, because its replica could not renew the lock in time, after 10s (run 01939d2c-0000)"),
        "{told}"
    );
}

#[tokio::test]
async fn what_did_not_run_is_told_with_the_reason_and_what_was_in_its_way() {
    let bench = bench().await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.at(600);
    bench.renew("backup", &run).await;
    bench.claim("backup", "n2", 2, 600).await;
    assert_eq!(
        why(&bench, "backup", "13:10").await,
        "`backup`, tick of Fri 2026-11-20 13:10:00 +01:00: it was skipped, because the run of Fri 2026-11-20 13:05:00 +01:00 \
         on n1 is still running"
    );
    bench.at(4_200);
    let run = bench.win("payout", "n1", 3, 3_600).await;
    bench.at(4_203);
    bench.finish("payout", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    let told = why(&bench, "payout", "13:00").await;
    assert!(
        told.ends_with(": its run on n1 started 10m late and succeeded after 3s (run 01939d2c-0000)"),
        "{told}"
    );
}

#[tokio::test]
async fn a_time_without_a_tick_and_a_tick_to_come_are_told_as_such() {
    let bench = bench().await;
    assert_eq!(
        why(&bench, "backup", "12:57").await,
        "`backup` has no tick at Fri 2026-11-20 12:57:00 +01:00; it has one at Fri 2026-11-20 12:55:00 +01:00, the next at Fri \
         2026-11-20 13:00:00 +01:00"
    );
    assert_eq!(
        why(&bench, "payout", "2026-11-20 13:00").await,
        "`payout`, tick of Fri 2026-11-20 13:00:00 +00:00 comes in 1h"
    );
    assert_eq!(
        why(&bench, "retired", "00:00").await,
        "`retired` is not enabled (enabled = false): it has no ticks"
    );
}

#[tokio::test]
async fn a_tick_from_before_the_job_was_known_is_told_so_whatever_ran_since() {
    let bench = bench().await;
    let told = "`payout`, tick of Fri 2026-11-20 11:00:00 +00:00: the store has a record of the job only since Fri 2026-11-20 \
         11:50:00 +00:00: before, no replica had the job, or the store lost its records";
    assert_eq!(why(&bench, "payout", "11:00").await, told, "nothing ran");
    bench.at(183);
    bench.run_by_hand("payout", "n1", 1).await;
    assert_eq!(why(&bench, "payout", "11:00").await, told, "a run by hand is no tick");
    bench.at(3_600);
    let run = bench.win("payout", "n1", 2, 3_600).await;
    bench.finish("payout", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    assert_eq!(why(&bench, "payout", "11:00").await, told, "a later tick ran");
}

#[tokio::test]
async fn a_tick_that_the_full_history_has_dropped_is_told_with_the_oldest_entry() {
    let bench = bench().await;
    for number in 1..=202 {
        bench.at(number * 300);
        let run = bench.win("backup", "n1", (number % 90) as u8, number * 300).await;
        bench.finish("backup", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    }
    let told = why(&bench, "backup", "2026-11-20T12:05:00Z").await;
    let oldest = "the history has only the newest 200 ticks of a job; its oldest entry is from Fri 2026-11-20 13:15:00 +01:00.";
    assert!(told.contains(oldest), "{told}");
}

#[tokio::test]
async fn a_tick_that_nobody_has_decided_is_told_with_what_it_waits_for() {
    let bench = bench().await;
    let told = why(&bench, "payout", "12:00").await;
    assert!(told.contains("no start before") || told.contains("no replica has taken it yet"), "{told}");
    assert!(told.starts_with("`payout`, tick of Fri 2026-11-20 12:00:00 +00:00: "), "{told}");
}

#[tokio::test]
async fn a_tick_that_no_live_replica_can_take_is_told_with_the_label_that_is_missing() {
    let text = FILE.replacen("[jobs.payout]", "[jobs.payout]\nonly_on = [\"gpu\"]", 1);
    let bench = Bench::new(&text).await;
    bench.at(-600);
    bench.open("payout").await;
    bench.at(1);
    let told = why(&bench, "payout", "12:00").await;
    assert!(
        told.contains("no replica has taken it yet: no replica takes ticks; it may start until "),
        "{told}"
    );
    bench.beat("n1", "f", &[]).await;
    let told = why(&bench, "payout", "12:00").await;
    let expected = "no replica has taken it yet: no live replica has the label `gpu`; it may start until ";
    assert!(told.contains(expected), "{told}");
    let text = FILE.replacen("[jobs.payout]", "[jobs.payout]\nonly_on = [\"gpu\", \"eu\"]", 1);
    let bench = Bench::new(&text).await;
    bench.at(-600);
    bench.open("payout").await;
    bench.at(1);
    bench.beat("n1", "f", &[]).await;
    assert!(why(&bench, "payout", "12:00").await.contains("has all the labels `gpu`, `eu`;"));
}

#[tokio::test]
async fn a_manual_run_is_found_by_the_second_that_tables_show() {
    let bench = bench().await;
    bench.at(303);
    bench.run_by_hand("backup", "n1", 7).await;
    let told = why(&bench, "backup", "2026-11-20T12:05:03Z").await;
    assert!(told.contains("a manual run"), "{told}");
}
