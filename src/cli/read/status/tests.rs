//! What `status` shows of healthy and unhealthy clusters.

use crate::cli::args::global::ReadCommand;
use crate::cli::testing::{printed, reading};
use crate::job::{Outcome, Reason, Verdict};
use crate::operate::audit::{ActKind, ActNote, ActRequest, ActResult, FROM_COMMAND_LINE, append_note};
use crate::store::Beat;
use crate::time::UtcMillis;
use crate::view::job::Definition;
use crate::view::testing::{Bench, FILE, node, run_id};

use super::*;

async fn shown(bench: &Bench, line: &str) -> (Exit, String) {
    let ReadCommand::Status(args) = reading(line) else { panic!("`{line}`") };
    let (exit, out, err) =
        printed(async |screen| show(&args, bench.jobs(), bench.expected(), &bench.store, screen).await).await;
    assert_eq!(err, "");
    (exit.expect("shown"), out)
}

/// Two replicas, one of which runs a job.
async fn healthy() -> Bench {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    bench.open("payout").await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.at(305);
    bench.finish("backup", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    bench.at(600);
    bench.win("backup", "n2", 2, 600).await;
    bench.at(615);
    let file = bench.config.fingerprint.clone();
    bench.beat("n1", &file, &[]).await;
    bench.beat("n2", &file, &[("backup", 2)]).await;
    bench
}

/// One replica is down and had a lock, the other has another file, and jobs fail and are overdue.
async fn ill() -> Bench {
    let bench = healthy().await;
    bench.at(3_600);
    let run = bench.win("payout", "n1", 3, 3_600).await;
    bench.at(3_604);
    bench.finish("payout", run, Verdict::because(Outcome::Failed, Reason::SpawnFailed), None).await;
    bench.at(7_200);
    let run = bench.win("payout", "n1", 4, 7_200).await;
    bench.at(7_203);
    bench.finish("payout", run, Verdict::plain(Outcome::Failed), Some(3)).await;
    bench.at(7_260);
    bench.beat("n1", "0123456789abcdef", &[]).await;
    bench
}

#[tokio::test]
async fn a_healthy_cluster_is_ok() {
    let (exit, out) = shown(&healthy().await, "status --check").await;
    assert_eq!(exit, Exit::Done);
    insta::assert_snapshot!(out);
}

#[tokio::test]
async fn what_is_wrong_comes_first() {
    let bench = ill().await;
    let (exit, out) = shown(&bench, "status").await;
    assert_eq!(exit, Exit::Done);
    insta::assert_snapshot!(out);
    assert_eq!(shown(&bench, "status --check").await, (Exit::Failed, out));
}

#[tokio::test]
async fn programs_get_every_field_by_its_stable_name() {
    let bench = ill().await;
    let file = &bench.config.fingerprint;
    let (_, out) = shown(&bench, "status --format json").await;
    assert!(!out.contains(file.as_str()) || out.contains("\"same_file\": true"));
    insta::assert_snapshot!(out.replace(file.as_str(), "FINGERPRINT"));
}

#[tokio::test]
async fn a_cluster_that_nobody_serves_says_who_was_heard_last() {
    let bench = Bench::new(FILE).await;
    let (_, out) = shown(&bench, "status").await;
    insta::assert_snapshot!("nobody_was_ever_there", out);
    bench.open("payout").await;
    bench.beat("n1", "x", &[]).await;
    bench.at(1_800);
    let (exit, out) = shown(&bench, "status --check").await;
    assert_eq!(exit, Exit::Failed);
    insta::assert_snapshot!("everybody_has_gone", out);
}

#[tokio::test]
async fn replicas_that_drain_take_no_ticks() {
    let bench = healthy().await;
    for name in ["n1", "n2"] {
        bench
            .beat_as(Beat {
                version: format!("0.1.{}", name.len()),
                draining: true,
                ..Beat::of(node(name), run_id(90), bench.config.fingerprint.clone(), UtcMillis(0))
            })
            .await;
    }
    let (_, out) = shown(&bench, "status").await;
    assert!(out.contains("all live replicas are draining"), "{out}");
}

/// Returns what is shown if the file has this definition of `backup`.
async fn shown_with(bench: &Bench, line: &str, definition: Definition) -> String {
    let ReadCommand::Status(args) = reading(line) else { panic!("`{line}`") };
    let mut jobs = bench.jobs();
    jobs[0].definition = definition;
    printed(async |screen| show(&args, jobs, bench.expected(), &bench.store, screen).await).await.1
}

/// Returns the line of a job.
fn line_of<'o>(out: &'o str, job: &str) -> Option<&'o str> {
    out.lines().find(|line| line.starts_with(job))
}

#[tokio::test]
async fn a_job_not_in_the_file_is_shown_without_a_problem_for_a_day_after_its_run() {
    let bench = ill().await;
    let out = shown_with(&bench, "status", Definition::Absent).await;
    let line = line_of(&out, "backup").expect("it runs");
    assert!(line.contains("not in jobs.toml") && line.contains("n2 for"), "{out}");
    assert!(!out.contains("`backup`"), "nothing is expected of it: {out}");
    let out = shown_with(&bench, "status --format json", Definition::Absent).await;
    assert!(out.contains("\"in_file\": false"), "{out}");

    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.at(305);
    bench.finish("backup", run, Verdict::plain(Outcome::Failed), Some(3)).await;
    let day = 24 * 60 * 60;
    bench.at(305 + day);
    assert!(line_of(&shown_with(&bench, "status", Definition::Absent).await, "backup").is_some());
    bench.at(306 + day);
    assert!(line_of(&shown_with(&bench, "status", Definition::Absent).await, "backup").is_none());
    let named = shown_with(&bench, "status backup", Definition::Absent).await;
    assert!(line_of(&named, "backup").is_some_and(|line| line.contains("failed")), "{named}");
    assert!(line_of(&shown_with(&bench, "status", Definition::Invalid).await, "backup").is_some());
}

#[tokio::test]
async fn a_job_whose_table_is_invalid_is_judged_by_what_the_store_knows() {
    let bench = ill().await;
    let out = shown_with(&bench, "status", Definition::Invalid).await;
    assert!(out.contains("`backup` was running on n2, no heartbeat "), "{out}");
    assert!(!out.contains("`backup` is overdue") && out.contains("`payout`"), "{out}");
    assert!(line_of(&out, "backup").is_some_and(|line| line.contains(" ? ")), "{out}");
}

#[tokio::test]
async fn a_job_by_name_is_shown_with_its_schedule_policies_last_runs_and_coming_ticks() {
    let bench = ill().await;
    let (_, out) = shown(&bench, "status backup").await;
    let (_, page) = out.split_once("\nschedule ").expect("a page below the tables");
    insta::assert_snapshot!(format!("schedule {page}"));
}

#[tokio::test]
async fn the_newest_ticks_are_drawn_for_lists_and_for_a_job_and_with_letters_if_wished() {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    for (run, (outcome, took)) in (1_u8..).zip([
        (Outcome::Succeeded, 4),
        (Outcome::Succeeded, 16),
        (Outcome::Failed, 4),
        (Outcome::Succeeded, 4),
        (Outcome::Succeeded, 1),
    ]) {
        let tick = i64::from(run) * 300;
        bench.at(tick);
        let lease = bench.win("backup", "n1", run, tick).await;
        bench.at(tick + took);
        bench.finish("backup", lease, Verdict::plain(outcome), None).await;
    }
    for (line, drawn) in [("status", "▄█✗▄▁"), ("status --ascii", "48x41")] {
        let (_, list) = shown(&bench, line).await;
        let job = line_of(&list, "backup").expect("a line");
        assert_eq!(job.split_whitespace().nth(1), Some(drawn), "{list}");
        let (_, page) = shown(&bench, &format!("{line} backup")).await;
        let ticks: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("ticks ")).take(2).collect();
        assert_eq!(
            ticks,
            [
                format!("ticks        {drawn}").as_str(),
                "             newest ticks: 4 succeeded, 1 failed; a run usually takes 4s"
            ],
            "{page}"
        );
    }
}

#[tokio::test]
async fn jobs_are_counted_by_their_conditions_and_a_job_by_name_tells_its_own() {
    let bench = ill().await;
    let (_, list) = shown(&bench, "status").await;
    assert!(list.contains("\nof 3 jobs: 1 failing, 1 late, 1 disabled\n"), "{list}");
    for (job, state) in [
        ("backup", Some("state        late")),
        ("payout", Some("state        failing")),
        ("retired", Some("state        disabled")),
    ] {
        assert_eq!(state_of(&bench, job).await.as_deref(), state);
    }
    let bench = healthy().await;
    assert_eq!(state_of(&bench, "backup").await.as_deref(), Some("state        running"));
    assert_eq!(state_of(&bench, "payout").await.as_deref(), Some("state        new"));
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    bench.at(300);
    let run = bench.win("backup", "n1", 1, 300).await;
    bench.finish("backup", run, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    assert_eq!(state_of(&bench, "backup").await.as_deref(), Some("state        ok"));
}

/// Returns the line with the state of a job on its page.
async fn state_of(bench: &Bench, job: &str) -> Option<String> {
    let ReadCommand::Status(args) = reading(&format!("status {job}")) else { panic!("another command") };
    let mut jobs = bench.jobs();
    jobs.retain(|known| known.name.as_str() == job);
    let (_, page, _) =
        printed(async |screen| show(&args, jobs, bench.expected(), &bench.store, screen).await).await;
    page.lines().find(|line| line.starts_with("state ")).map(str::to_owned)
}

#[tokio::test]
async fn a_long_failure_has_one_count_and_one_beginning_wherever_it_is_shown() {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    for run in 1..=61 {
        let tick = i64::from(run) * 300;
        bench.at(tick);
        let lease = bench.win("backup", "n1", run, tick).await;
        bench.at(tick + 4);
        bench.finish("backup", lease, Verdict::plain(Outcome::Failed), Some(3)).await;
    }
    bench.beat("n1", &bench.config.fingerprint, &[]).await;
    for (line, words) in [
        ("status", &["; 61 ticks in a row did not succeed, since 2026-11-20 12:05:04 UTC"][..]),
        (
            "status backup",
            &[
                "; 61 ticks in a row did not succeed, since 2026-11-20 12:05:04 UTC",
                "\nfailing      61 ticks in a row since 2026-11-20 12:05:04 UTC",
            ][..],
        ),
        (
            "status --format json",
            &[
                "\"since\": \"2026-11-20T12:05:04.000Z\",\n      \"count\": 61,",
                "\"failures_in_row\": 61,\n      \"failing_since\": \"2026-11-20T12:05:04.000Z\"",
            ][..],
        ),
    ] {
        let (_, out) = shown(&bench, line).await;
        words.iter().for_each(|words| assert!(out.contains(*words), "{words}\n{out}"));
        assert!(out.contains("failed with exit code 3 on n1, now"), "{out}");
    }
}

#[tokio::test]
async fn a_failing_job_is_shown_with_its_newest_success_and_the_failures_since() {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    let page = async || {
        let (_, out) = shown(&bench, "status backup").await;
        let is_shown = |line: &&str| line.starts_with("last success") || line.starts_with("failing");
        out.lines().filter(is_shown).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(page().await, "last success never");
    for (run, (outcome, expected)) in (1_u8..).zip([
        (Outcome::Failed, "last success never\nfailing      1 tick since 2026-11-20 12:05:04 UTC (now)"),
        (Outcome::Succeeded, "last success 2026-11-20 12:10:00 UTC, ended now"),
        (
            Outcome::Failed,
            "last success 2026-11-20 12:10:00 UTC, ended 5m ago\n\
             failing      1 tick since 2026-11-20 12:15:04 UTC (now)",
        ),
        (
            Outcome::TimedOut,
            "last success 2026-11-20 12:10:00 UTC, ended 10m ago\n\
             failing      2 ticks in a row since 2026-11-20 12:15:04 UTC (5m ago)",
        ),
    ]) {
        let tick = i64::from(run) * 300;
        bench.at(tick);
        let lease = bench.win("backup", "n1", run, tick).await;
        bench.at(tick + 4);
        bench.finish("backup", lease, Verdict::plain(outcome), None).await;
        assert_eq!(page().await, expected, "{outcome}");
    }
}

#[tokio::test]
async fn a_job_by_name_is_shown_with_the_last_three_acts_on_it_and_others_are_not() {
    let bench = healthy().await;
    let acts = async |line: &str| {
        let (_, out) = shown(&bench, line).await;
        let acts = out.lines().skip_while(|line| !line.starts_with("AT (UTC)"));
        acts.skip(1)
            .map(|line| line.split("  ").map(str::trim).collect::<Vec<_>>().join("|"))
            .collect::<Vec<_>>()
    };
    assert_eq!(acts("status backup").await, [""; 0]);
    for (job, act, why) in [
        ("backup", ActKind::Kill, None),
        ("backup", ActKind::Pause, Some("month end")),
        ("payout", ActKind::Trigger, None),
        ("backup", ActKind::Resume, None),
        ("backup", ActKind::Trigger, None),
    ] {
        let job = &bench.spec(job).name;
        let request = ActRequest { by: "ann@db1", from: FROM_COMMAND_LINE, act, job, why };
        let note = ActNote::of(&request, &ActResult::Done(&"done"), bench.now());
        append_note(&bench.store, &note).await.expect("answers");
    }
    assert_eq!(
        acts("status backup").await,
        [
            "2026-11-20 12:10:15|ann@db1|pause||done||month end",
            "2026-11-20 12:10:15|ann@db1|resume|done",
            "2026-11-20 12:10:15|ann@db1|trigger|done",
        ]
    );
    assert_eq!(acts("status").await, [""; 0]);
}
