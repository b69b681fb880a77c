//! What `acts` shows of the notes in a store.

use crate::cli::args::global::ReadCommand;
use crate::cli::testing::{printed, reading};
use crate::operate::OperateError;
use crate::operate::audit::{ActRequest, ActResult, FROM_COMMAND_LINE, append_note};
use crate::store::Feed;
use crate::view::testing::{Bench, FILE, run_id};

use super::*;

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

/// Notes an act at the bench's time.
async fn note(bench: &Bench, request: ActRequest<'_>, result: ActResult<'_>) {
    let note = ActNote::of(&request, &result, bench.now());
    append_note(&bench.store, &note).await.expect("answers");
}

/// A pause with a reason, a run by hand that was requested over HTTP, and a kill that was refused.
async fn eventful() -> Bench {
    let (bench, backup, gone) = (Bench::new(FILE).await, job("backup"), job("gone"));
    let (by, from) = ("ann@db1", FROM_COMMAND_LINE);
    let pause = ActRequest { by, from, act: ActKind::Pause, job: &backup, why: Some("month end") };
    note(&bench, pause, ActResult::Done(&"is paused until 2026-11-20 14:00:00 UTC (in 2h)")).await;
    bench.at(61);
    let trigger = ActRequest { by: "maria", from: "10.0.0.7", act: ActKind::Trigger, job: &gone, why: None };
    note(&bench, trigger, ActResult::Done(&format!("run {}", run_id(1)))).await;
    bench.at(125);
    let kill = ActRequest { by: "bob@db2", from, act: ActKind::Kill, job: &backup, why: None };
    note(&bench, kill, ActResult::Refused(&OperateError::NotRunning(backup.clone()))).await;
    bench
}

/// Returns what is shown on stdout and stderr.
async fn shown(bench: &Bench, line: &str) -> (String, String) {
    let ReadCommand::Acts(args) = reading(line) else { panic!("`{line}`") };
    let is_absent = |job: &JobName| job.as_str() == "gone";
    let (exit, out, err) = printed(async |screen| show(&args, &is_absent, &bench.store, screen).await).await;
    assert_eq!(exit.expect("shown"), Exit::Done);
    (out, err)
}

#[tokio::test]
async fn the_acts_on_all_jobs_are_one_list_with_the_newest_last() {
    let (out, err) = shown(&eventful().await, "acts").await;
    assert_eq!(err, "");
    insta::assert_snapshot!(out);
}

#[tokio::test]
async fn the_acts_on_one_job_do_not_name_it() {
    insta::assert_snapshot!(shown(&eventful().await, "acts backup").await.0);
}

#[tokio::test]
async fn programs_get_every_field_of_an_act_by_its_stable_name() {
    insta::assert_snapshot!(shown(&eventful().await, "acts --format json").await.0);
}

#[tokio::test]
async fn the_newest_acts_are_kept() {
    let (out, _) = shown(&eventful().await, "acts backup -n 1").await;
    assert!(out.contains("bob@db2") && !out.contains("ann@db1"), "{out}");
}

#[tokio::test]
async fn a_narrow_terminal_gets_no_origin_and_no_reason() {
    let bench = eventful().await;
    let newest = newest_notes(&bench.store, None, 10).await.expect("answers");
    let text = |columns| {
        let text = table::text(&newest.notes, false, &|_| false, columns);
        anstream::adapter::strip_str(&text).to_string()
    };
    assert!(text(None).contains("10.0.0.7") && text(None).contains("month end"));
    let narrow = text(Some(100));
    assert!(!narrow.contains("10.0.0.7") && !narrow.contains("month end"), "{narrow}");
}

#[tokio::test]
async fn a_cluster_without_acts_says_so() {
    let bench = Bench::new(FILE).await;
    assert_eq!(shown(&bench, "acts").await.0, "no act has been noted yet\n");
    assert_eq!(shown(&bench, "acts --format json").await.0, "[]\n");
}

#[tokio::test]
async fn a_list_of_acts_without_a_readable_line_is_not_called_empty() {
    let bench = Bench::new(FILE).await;
    bench.store.append(Feed::Acts, "{}").await.expect("answers");
    let (out, err) = shown(&bench, "acts").await;
    assert_eq!(out, "");
    assert!(err.starts_with("note: 1 line in the list of acts cannot be read"), "{err}");
}

#[tokio::test]
async fn lines_that_are_no_notes_are_counted_on_stderr() {
    let bench = eventful().await;
    bench.store.append(Feed::Acts, "{}").await.expect("answers");
    let (out, err) = shown(&bench, "acts").await;
    assert_eq!(out.lines().count(), 4, "{out}");
    let note = "note: 1 line in the list of acts cannot be read (written by another release or program): not shown\n";
    assert_eq!(err, note);
}
