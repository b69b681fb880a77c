//! What `status --watch` shows, with and without an answer of the store.

use std::io;
use std::path::Path;

use clap::Parser;
use tokio::sync::mpsc;

use crate::cli::args::global::{Cli, CliCommand, ReadCommand};
use crate::cli::read::status;
use crate::cli::testing::{Wire, until};
use crate::view::testing::{Bench, FILE};

use super::*;

/// Runs `status --watch` on the store in this folder, until the test drops the receiver of the output.
async fn watched(folder: &Path, job: Option<&str>, out: Wire) -> Result<Exit, Failure> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), FILE).expect("written");
    let [file, folder] = [file.path(), folder].map(|path| path.to_str().expect("text"));
    let words = ["solocron", "--config", file, "--state-dir", folder, "status", "--watch"];
    let cli = Cli::parse_from(words.into_iter().chain(job));
    let CliCommand::Read(ReadCommand::Status(args)) = &cli.command else { panic!("another command") };
    status::run(args, &cli.global, &mut Screen::plain(out, io::sink())).await
}

#[tokio::test]
async fn a_watched_status_is_shown_again_until_its_reader_has_gone() {
    let bench = Bench::new(FILE).await;
    let (out, mut texts) = mpsc::unbounded_channel::<String>();
    let reader = async {
        for _ in 0..2 {
            let text = texts.recv().await.expect("a text");
            assert!(text.contains("no live replica, no job runs"), "{text}");
        }
        drop(texts);
    };
    let (exit, ()) = tokio::join!(watched(bench.folder.path(), None, Wire(out)), reader);
    assert_eq!(exit.expect("shown"), Exit::Done);
}

#[tokio::test]
async fn a_watch_without_the_store_says_why_and_shows_the_state_once_it_answers() {
    let bench = Bench::new(FILE).await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let folder = elsewhere.path().join("state");
    let (out, mut texts) = mpsc::unbounded_channel::<String>();
    let reader = async {
        let text = texts.recv().await.expect("a text");
        assert!(text.starts_with("no news yet, trying again: local store "), "{text}");
        assert!(text.contains(" is not there"), "{text}");
        std::os::unix::fs::symlink(bench.folder.path(), &folder).expect("a link");
        until(&mut texts, "no live replica, no job runs").await;
        drop(texts);
    };
    let (exit, ()) = tokio::join!(watched(&folder, None, Wire(out)), reader);
    assert_eq!(exit.expect("shown"), Exit::Done);
}

#[tokio::test]
async fn a_job_that_nobody_knows_is_not_watched() {
    let bench = Bench::new(FILE).await;
    let (out, mut texts) = mpsc::unbounded_channel::<String>();
    let failure = watched(bench.folder.path(), Some("bakup"), Wire(out)).await.expect_err("no such job");
    assert_eq!((failure.exit, texts.try_recv().ok()), (Exit::Usage, None), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_watched_status_without_news_says_for_how_long_and_keeps_what_it_showed() {
    let failure = Failure::failed("no answer from redis://a within 2s".to_owned());
    let last = LastPage { text: "ok: 2 replicas, 3 jobs\n".into(), at: Instant::now() };
    tokio::time::advance(Duration::from_secs(12)).await;
    let shown = strip_str(&without_news(&failure, Some(&last))).to_string();
    assert_eq!(
        shown,
        "no news for 12s, trying again: no answer from redis://a within 2s\nbefore that:\n\nok: 2 replicas, 3 jobs\n"
    );
}

#[test]
fn a_watched_status_that_is_higher_than_the_terminal_keeps_what_is_wrong_on_it() {
    let text = "2 problems\n  - one\n  - \u{1b}[31mtwo\u{1b}[0m which is longer\n\nREPLICA\nn1\n";
    assert_eq!(fitted(text, 80, 7), text, "the cursor has a row of its own");
    assert_eq!(
        fitted(text, 80, 6),
        "2 problems\n  - one\n  - \u{1b}[31mtwo\u{1b}[0m which is longer\n\n… and 2 more lines; a taller terminal shows them\n"
    );
    // The third line takes two rows.
    assert_eq!(fitted(text, 14, 8), text);
    assert_eq!(
        fitted(text, 14, 5),
        "2 problems\n  - one\n… and 4 more lines; a taller terminal shows them\n"
    );
}
