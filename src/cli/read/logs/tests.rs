//! What `logs` shows of runs on this node and on others.

use std::io;

use clap::Parser;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::args::global::{Cli, CliCommand, ReadCommand};
use crate::cli::testing::{Wire, printed, until};
use crate::job::{Cause, Fence, JobName, Tick, Verdict};
use crate::metrics::HttpTally;
use crate::relay::{LocalOutput, OutputResponder};
use crate::run::{Ended, Identity, RunLog};
use crate::store::LocalStore;
use crate::time::SystemClock;
use crate::view::testing::{Bench, FILE, NOON, node, run_id};

use super::*;

const OUTPUT: &str = "2026-11-20T12:05:00.001Z out one\n2026-11-20T12:05:00.002Z err two\n";

/// A cluster whose folder holds jobs.toml, the store, and this node's runs.
async fn bench() -> Bench {
    let bench = Bench::new(FILE).await;
    std::fs::write(bench.folder.path().join("jobs.toml"), FILE).expect("written");
    bench
}

fn logs_of(bench: &Bench) -> RunLogs {
    RunLogs::new(bench.folder.path(), Arc::new(|| UtcMillis(NOON + 300_000)))
}

/// Begins a run of `backup` on this node, with this output, if it has any.
async fn begin(bench: &Bench, run: u8, output: &str) -> (RunLogs, RunLog) {
    begin_in(bench.folder.path(), run, output).await
}

/// Begins a run of `backup` in this state folder.
async fn begin_in(state_dir: &Path, run: u8, output: &str) -> (RunLogs, RunLog) {
    let logs = RunLogs::new(state_dir, Arc::new(|| UtcMillis(NOON + 300_000)));
    let identity = Identity {
        job: JobName::parse("backup").expect("a name"),
        tick: Tick::at_millis(NOON + 300_000),
        tick_local: String::new(),
        fence: Fence(NOON + 300_000),
        run: run_id(run),
        attempt: 1,
        cause: Cause::Schedule,
        node: node("n1"),
    };
    let log = logs.begin(&identity).await;
    if !output.is_empty() {
        std::fs::write(log.path(), output).expect("written");
    }
    (logs, log)
}

fn failed(tail: &str) -> Ended {
    Ended {
        was_stuck: false,
        stop_signals: crate::run::StopSignals::default(),
        was_tried: true,
        ago: std::time::Duration::ZERO,
        verdict: Verdict::plain(Outcome::Failed),
        exit_code: Some(3),
        signal: None,
        error: None,
        tail: tail.to_owned(),
        started: UtcMillis(NOON + 300_000),
        finished: UtcMillis(NOON + 305_000),
        log_bytes: 0,
        birth: crate::run::Birth::default(),
    }
}

/// Begins a run of `backup` on this node, and lets it fail.
async fn ran(bench: &Bench, run: u8, output: &str, tail: &str) {
    let (logs, log) = begin(bench, run, output).await;
    logs.finish(log, 1, &failed(tail)).await;
}

async fn logs(bench: &Bench, line: &str, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let folder = bench.folder.path().to_str().expect("text");
    let config = format!("{folder}/jobs.toml");
    let words = ["solocron", "--config", &config, "--state-dir", folder, "logs"];
    let cli = Cli::parse_from(words.into_iter().chain(line.split_whitespace()));
    let CliCommand::Read(ReadCommand::Logs(args)) = &cli.command else { panic!("`{line}`") };
    run(args, &cli.global, UtcMillis(NOON + 360_000), screen).await
}

/// Returns exit code, stdout and stderr; or the failure, without the folder's name.
async fn shown(bench: &Bench, line: &str) -> (Exit, String, String) {
    let (result, out, err) = printed(async |screen| logs(bench, line, screen).await).await;
    let folder = bench.folder.path().to_str().expect("text");
    match result {
        Ok(exit) => (exit, out, err.replace(folder, "FOLDER")),
        Err(failure) => (failure.exit, out, failure.message.replace(folder, "FOLDER")),
    }
}

#[tokio::test]
async fn the_last_run_here_is_headed_by_run_node_and_time() {
    let bench = bench().await;
    ran(&bench, 1, OUTPUT, "one\ntwo\n").await;
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    let head = "run 01939d2c-0000-7000-8000-000000000001 on n1, tick 2026-11-20T12:05:00.000Z, \
        started 2026-11-20 12:05:00 UTC, failed after 5s, exit 3\n";
    assert_eq!(out, format!("{head}{OUTPUT}"));
    let (_, out, _) = shown(&bench, "backup --tail 1").await;
    assert_eq!(out, format!("{head}2026-11-20T12:05:00.002Z err two\n"));
}

#[tokio::test]
async fn a_run_without_a_log_says_why_and_shows_what_there_is() {
    let bench = bench().await;
    ran(&bench, 1, "", "").await;
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!((exit, out.lines().count(), err.as_str()), (Exit::Done, 1, "note: it printed nothing\n"));

    ran(&bench, 3, "", "one\n").await;
    let (_, out, err) = shown(&bench, &format!("backup --run {}", run_id(3))).await;
    assert!(out.ends_with("exit 3\none\n"), "{out}");
    assert!(err.contains("in the replica's own log only"), "{err}");

    ran(&bench, 2, OUTPUT, "one\ntwo").await;
    let run = run_id(2);
    std::fs::remove_file(logs_of(&bench).log_path(&JobName::parse("backup").expect("a name"), run))
        .expect("was there");
    let (exit, out, err) = shown(&bench, &format!("backup --run {run}")).await;
    assert!(out.ends_with("exit 3\none\ntwo\n"), "{out}");
    assert!(err.contains("was deleted"), "{err}");
    let (_, out, _) = shown(&bench, &format!("backup --run {run} --tail 1")).await;
    assert!(out.ends_with("exit 3\ntwo\n"), "{out}");
    assert_eq!(exit, Exit::Done);
}

#[tokio::test]
async fn of_a_newer_run_whose_replica_does_not_answer_the_kept_end_is_shown_unless_local() {
    let bench = bench().await;
    ran(&bench, 1, OUTPUT, "").await;
    bench.open("backup").await;
    bench.at(600);
    let lease = bench.win("backup", "n2", 2, 600).await;
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!(exit, Exit::Failed);
    assert!(out.contains("on n2") && out.contains("running"), "{out}");
    assert!(err.contains("warning: n2 does not answer\nnote: its end is not recorded yet"), "{err}");

    let there = format!(
        "its output may be on n2: there, `solocron logs backup --run {} --local` shows it",
        run_id(2)
    );
    assert!(err.contains(&there) && !err.contains("shown here"), "this command has ended: {err}");

    bench.at(610);
    bench.finish("backup", lease, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!(exit, Exit::Failed);
    insta::assert_snapshot!("a_newer_run_elsewhere", format!("stdout:\n{out}\nstderr:\n{err}"));

    let (exit, out, err) = shown(&bench, "backup --local").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert!(out.ends_with(OUTPUT), "{out}");
    let (exit, out, _) = shown(&bench, &format!("backup --run {}", run_id(1))).await;
    assert_eq!(exit, Exit::Done, "a run that is here was asked for");
    assert!(out.ends_with(OUTPUT), "{out}");
    let (exit, out, err) = shown(&bench, &format!("backup --run {}", run_id(2))).await;
    assert_eq!(exit, Exit::Failed);
    assert!(out.contains("on n2") && err.contains("n2 does not answer"), "{out}{err}");
}

#[tokio::test]
async fn a_newer_run_elsewhere_is_shown_by_its_replica_and_followed_to_its_end() {
    let bench = bench().await;
    ran(&bench, 1, OUTPUT, "").await;
    bench.open("backup").await;
    bench.at(600);
    let lease = bench.win("backup", "n2", 2, 600).await;
    let elsewhere = bench.folder.path().join("n2");
    let (n2_logs, log) = begin_in(&elsewhere, 2, OUTPUT).await;
    let responder = OutputResponder::new(node("n2"), LocalOutput::new(&elsewhere));
    let place = bench.folder.path().join("store.sqlite3");
    let store = LocalStore::start(&place, bench.config.cluster.clone(), Box::new(SystemClock));
    let store = Arc::new(store.expect("a boot id"));
    let mut tasks = JoinSet::new();
    tasks.spawn(responder.run(store, Arc::new(HttpTally::of(&[])), CancellationToken::new()));

    let (exit, out, _) = shown(&bench, "backup").await;
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("on n2") && out.ends_with(OUTPUT), "{out}");
    let (exit, out, _) = shown(&bench, "backup --tail 1").await;
    assert_eq!((exit, out.lines().count()), (Exit::Done, 2), "{out}");

    bench.at(610);
    bench.finish("backup", lease, Verdict::plain(Outcome::Failed), Some(3)).await;
    n2_logs.finish(log, 1, &failed("")).await;
    let (exit, out, _) = shown(&bench, "backup --follow").await;
    assert_eq!(exit, Exit::Done);
    assert!(out.ends_with(OUTPUT), "{out}");
    std::fs::remove_file(n2_logs.log_path(&JobName::parse("backup").expect("a name"), run_id(2)))
        .expect("was there");
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!(exit, Exit::Done);
    assert!(out.ends_with(&format!("the end of run {}\n", run_id(2))), "{out}");
    assert!(err.contains("n2 has no log of it"), "{err}");
}

#[tokio::test]
async fn a_run_that_nobody_knows_is_an_error_with_a_way_out() {
    let bench = bench().await;
    let (exit, out, message) = shown(&bench, "backup").await;
    assert_eq!((exit, out.as_str()), (Exit::Failed, ""));
    insta::assert_snapshot!("no_run_at_all", message);
    ran(&bench, 1, OUTPUT, "").await;
    let (exit, _, message) = shown(&bench, &format!("payout --run {}", run_id(1))).await;
    assert_eq!(exit, Exit::Usage);
    assert!(message.ends_with("is of job `backup`, not `payout`"), "{message}");
    let (exit, _, message) = shown(&bench, "bakup").await;
    assert_eq!(exit, Exit::Usage);
    assert!(message.contains("did you mean `backup`?"), "{message}");
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_hides_no_log_of_this_node() {
    let bench = bench().await;
    let nowhere = "--store local:/nowhere/at/all.sqlite3";
    let (exit, _, message) = shown(&bench, &format!("backup {nowhere}")).await;
    assert_eq!(exit, Exit::StoreUnreachable, "{message}");
    ran(&bench, 1, OUTPUT, "").await;
    let (exit, out, err) = shown(&bench, &format!("backup {nowhere}")).await;
    assert_eq!(exit, Exit::Done);
    assert!(out.ends_with(OUTPUT), "{out}");
    assert!(err.starts_with("warning: local store /nowhere/at/all.sqlite3 is not there"), "{err}");
    assert!(err.contains("a newer run may be on another node"), "{err}");
}

#[tokio::test]
async fn a_run_is_found_by_the_beginning_of_its_id_unless_another_begins_so() {
    let bench = bench().await;
    ran(&bench, 1, OUTPUT, "").await;
    bench.open("backup").await;
    let (whole, all_but_the_last) = (run_id(1).to_string(), &run_id(1).to_string()[..35]);
    for run in [&whole, all_but_the_last, "01939d2c-0"] {
        let (exit, out, err) = shown(&bench, &format!("backup --run {run}")).await;
        assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{run}");
        assert!(out.ends_with(OUTPUT), "{out}");
    }
    bench.at(600);
    let lease = bench.win("backup", "n2", 12, 600).await;
    bench.at(610);
    bench.finish("backup", lease, Verdict::plain(Outcome::Succeeded), Some(0)).await;
    let (exit, out, message) = shown(&bench, "backup --run 01939d2c-0").await;
    assert_eq!((exit, out.as_str()), (Exit::Usage, ""));
    assert_eq!(
        message,
        format!(
            "2 runs of job `backup` begin with `01939d2c-0`: {}, {}\n  help: write more of the id",
            run_id(1),
            run_id(12)
        )
    );
    let (exit, out, _) = shown(&bench, &format!("backup --run {}", &run_id(12).to_string()[..35])).await;
    assert_eq!(exit, Exit::Failed);
    assert!(out.contains("on n2"), "{out}");
    let (exit, _, message) = shown(&bench, "backup --run 02").await;
    assert_eq!(exit, Exit::Failed);
    assert!(message.starts_with("no run 02 of job `backup` in"), "{message}");
}

#[tokio::test]
async fn the_log_of_a_job_that_was_taken_out_of_the_file_is_shown() {
    let bench = bench().await;
    ran(&bench, 1, OUTPUT, "").await;
    let file = FILE.replace("[jobs.backup]", "[jobs.renamed]");
    std::fs::write(bench.folder.path().join("jobs.toml"), file).expect("written");
    let (exit, out, err) = shown(&bench, "backup").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, "note: `backup` is not in jobs.toml\n"));
    assert!(out.ends_with(OUTPUT), "{out}");
    let (exit, out, _) = shown(&bench, "backup --local").await;
    assert_eq!((exit, out.ends_with(OUTPUT)), (Exit::Done, true));
    for line in ["bakup", "bakup --local"] {
        let (exit, _, message) = shown(&bench, line).await;
        assert_eq!(exit, Exit::Usage, "{message}");
        assert!(message.starts_with("there is no job `bakup` in FOLDER/jobs.toml"), "{message}");
    }
}

/// Returns the command, and what it prints on stdout and stderr.
fn following<'b>(
    bench: &'b Bench,
    words: &'b str,
) -> (
    impl Future<Output = Result<Exit, Failure>> + use<'b>,
    mpsc::UnboundedReceiver<String>,
    mpsc::UnboundedReceiver<String>,
) {
    let (out, lines) = mpsc::unbounded_channel();
    let (err, notes) = mpsc::unbounded_channel();
    let follower = async move { logs(bench, words, &mut Screen::plain(Wire(out), Wire(err))).await };
    (follower, lines, notes)
}

#[tokio::test]
async fn a_followed_run_is_shown_as_it_goes_on_until_it_ends() {
    let bench = bench().await;
    let (node_logs, log) = begin(&bench, 1, "").await;
    let (follower, mut lines, mut notes) = following(&bench, "backup --local --follow");
    let replica = async {
        until(&mut lines, "running for 1m\n").await;
        std::fs::write(log.path(), OUTPUT).expect("written");
        until(&mut lines, "err two\n").await;
        node_logs.finish(log, 1, &failed("")).await;
        until(&mut notes, &format!("run {} ended: failed, exit 3\n", run_id(1))).await;
    };
    let (exit, ()) = tokio::join!(follower, replica);
    assert_eq!(exit.expect("followed"), Exit::Done);
}

#[tokio::test]
async fn a_silent_replica_is_followed_until_the_end_of_the_run_is_recorded() {
    let bench = bench().await;
    bench.open("backup").await;
    bench.at(600);
    let lease = bench.win("backup", "n2", 2, 600).await;
    let (follower, mut lines, mut notes) = following(&bench, "backup --follow");
    let cluster = async {
        until(&mut notes, "n2 does not answer: waiting for it while the run may continue\n").await;
        bench.finish("backup", lease, Verdict::plain(Outcome::Failed), Some(3)).await;
        until(&mut notes, "warning: n2 does not answer\nnote: these are its last 4 KiB").await;
        until(&mut lines, &format!("the end of run {}\n", run_id(2))).await;
        until(&mut notes, &format!("run {} ended: failed, exit 3\n", run_id(2))).await;
    };
    let (exit, ()) = tokio::join!(follower, cluster);
    assert_eq!(exit.expect("shown"), Exit::Failed);
}

#[tokio::test]
async fn a_silent_replica_whose_lock_has_ended_is_given_up_if_nobody_records_the_end() {
    let bench = bench().await;
    bench.open("backup").await;
    bench.at(600);
    bench.win("backup", "n2", 2, 600).await;
    bench.at(631);
    let (exit, out, message) = shown(&bench, "backup --follow").await;
    assert_eq!((exit, out.lines().count()), (Exit::Failed, 1), "{out}");
    let run = run_id(2);
    assert!(
        message.starts_with(&format!("n2 does not answer, the lock of run {run} has ended, and the store")),
        "{message}"
    );
}

#[tokio::test]
async fn following_ends_quietly_when_nobody_reads_any_more() {
    let bench = bench().await;
    let (_logs, _log) = begin(&bench, 1, OUTPUT).await;
    let (out, lines) = mpsc::unbounded_channel();
    drop(lines);
    let mut screen = Screen::plain(Wire(out), io::sink());
    let exit = logs(&bench, "backup --local --follow", &mut screen).await;
    assert_eq!(exit.expect("no error"), Exit::Done);
}
