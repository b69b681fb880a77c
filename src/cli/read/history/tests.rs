//! What `history` shows of a cluster's past.

use std::sync::Arc;

use crate::cli::args::global::ReadCommand;
use crate::cli::testing::{printed, reading};
use crate::job::{Reason, Verdict};
use crate::view::history::TickView;
use crate::view::job::Definition;
use crate::view::testing::{Bench, FILE};

use super::*;

/// A failure, a success, a folded outage, a skipped tick, and a run that has not ended.
async fn eventful() -> Bench {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    bench.open("payout").await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.at(305);
    bench.finish("backup", run, Verdict::plain(Outcome::Failed), Some(3)).await;
    bench.at(3_600);
    let run = bench.win("payout", "n2", 2, 3_600).await;
    bench.at(3_790);
    bench.finish("payout", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    bench.at(3_901);
    bench.win("backup", "n2", 3, 3_900).await;
    bench.at(3_915);
    bench
}

async fn shown(bench: &Bench, line: &str) -> String {
    let ReadCommand::History(args) = reading(line) else { panic!("`{line}`") };
    let jobs = match &args.job {
        Some(job) => vec![KnownJob::from(Arc::clone(&bench.config.jobs[job]))],
        None => bench.jobs(),
    };
    let (exit, out, err) = printed(async |screen| show(&args, jobs, &bench.store, screen).await).await;
    assert_eq!((exit.expect("shown"), err.as_str()), (Exit::Done, ""));
    out
}

#[tokio::test]
async fn the_past_of_all_jobs_is_one_list_with_the_oldest_first_and_what_runs_last() {
    insta::assert_snapshot!(shown(&eventful().await, "history").await);
}

#[tokio::test]
async fn one_jobs_past_has_its_run_ids() {
    insta::assert_snapshot!(shown(&eventful().await, "history backup").await);
}

/// The filter that leaves nothing out.
fn everything() -> HistoryFilter {
    let ReadCommand::History(args) = reading("history -n 1000") else { panic!("it is one") };
    args.filter()
}

/// The width of the widest line.
fn width(text: &str) -> usize {
    let text = anstream::adapter::strip_str(text).to_string();
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[tokio::test]
async fn a_usual_terminal_holds_each_line_and_rows_are_in_the_order_of_a_column() {
    let bench = eventful().await;
    let snapshot = Snapshot::take(&bench.store, vec![KnownJob::from(Arc::clone(bench.spec("backup")))], 10)
        .await
        .expect("answers");
    let mut past = everything().select(&snapshot);
    past[0].attempt = Some(3);
    past[1].reason = Some(Reason::StoreUnreachable);
    for is_one_job in [true, false] {
        let text = table::text(&past, is_one_job, &snapshot, Some(80));
        assert!(width(&text) <= 80, "{text}");
        assert!(text.contains("failed (exit 3, attempt 3)") && text.contains("12:05:05"), "{text}");
    }
    let ended: Vec<_> = past.iter().map(TickView::ended).collect();
    assert!(ended.is_sorted(), "{ended:?}");
}

#[tokio::test]
async fn programs_get_every_field_by_its_stable_name() {
    insta::assert_snapshot!(shown(&eventful().await, "history --format json").await);
}

#[tokio::test]
async fn the_newest_are_kept_after_what_is_not_wanted_is_left_out() {
    let bench = eventful().await;
    let failed = shown(&bench, "history --failed -n 1").await;
    assert!(failed.contains("missed (no_replica) ×11") && !failed.contains("failed "), "{failed}");
    let since = shown(&bench, "history --since 5m").await;
    assert!(
        since.contains("succeeded") && since.contains("running") && !since.contains("failed "),
        "{since}"
    );
    let since = shown(&bench, "history --since 2027-01-01T00:00:00Z --failed").await;
    assert_eq!(since, "no such ticks\n");
}

#[tokio::test]
async fn outcomes_and_nodes_are_chosen_and_what_is_left_out_does_not_count() {
    let bench = eventful().await;
    let rows = async |line: &str| {
        let said = shown(&bench, line).await;
        said.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_digit())).count()
    };
    assert_eq!(rows("history --outcome failed").await, 1);
    assert_eq!(rows("history --outcome failed,succeeded --outcome running").await, 3);
    assert_eq!(rows("history --outcome timed_out").await, 0);
    assert_eq!(rows("history --node n2").await, 2);
    assert_eq!(rows("history --node n2 --outcome running -n 1").await, 1);
    assert_eq!(rows("history --node n1 --outcome running").await, 0);
}

#[tokio::test]
async fn rows_whose_ticks_are_not_in_order_say_which_order_they_are_in() {
    let bench = eventful().await;
    let legend = "in the order in which they ended\n";
    assert!(!shown(&bench, "history").await.contains(legend));
    // This tick has ended, and the run of an earlier one has not.
    bench.at(7_200);
    let run = bench.win("payout", "n1", 4, 7_200).await;
    bench.at(7_210);
    bench.finish("payout", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    let text = shown(&bench, "history").await;
    assert!(text.ends_with(legend), "{text}");
    assert!(!shown(&bench, "history payout").await.contains(legend));
}

#[tokio::test]
async fn a_job_that_the_file_does_not_name_is_marked() {
    let bench = eventful().await;
    let ReadCommand::History(args) = reading("history") else { panic!("it is one") };
    let absent = |job: KnownJob| match job.name.as_str() {
        "payout" => KnownJob { definition: Definition::Absent, ..job },
        _ => job,
    };
    let jobs = bench.jobs().into_iter().map(absent).collect();
    let (_, out, _) = printed(async |screen| show(&args, jobs, &bench.store, screen).await).await;
    assert_eq!(out.matches("payout (not in jobs.toml)").count(), 1, "{out}");
    assert!(!out.contains("backup ("), "{out}");
}

#[tokio::test]
async fn a_job_without_a_past_says_so() {
    let bench = Bench::new(FILE).await;
    assert_eq!(shown(&bench, "history").await, "no tick has been decided yet\n");
    assert_eq!(shown(&bench, "history --format json").await, "[]\n");
}

#[tokio::test]
async fn folded_ticks_are_not_counted_by_a_schedule_that_was_edited() {
    let bench = eventful().await;
    let edited = Bench::new(&FILE.replace("*/5", "*/7")).await;
    let jobs = vec![KnownJob::from(Arc::clone(edited.spec("backup")))];
    let snapshot = Snapshot::take(&bench.store, jobs, 10).await.expect("answers");
    let mut folded = everything().select(&snapshot);
    folded.retain(|tick| tick.after.is_some());
    assert_eq!((folded.len(), folded[0].count), (1, None));
    assert_eq!(folded[0].verdict(), "missed (no_replica) ×?");
    assert_eq!(folded[0].reason, Some(Reason::NoReplica));
}
