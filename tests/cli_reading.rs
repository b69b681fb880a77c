//! The reading commands as the program calls them, for what needs no cluster: the file, its ticks, and what is said
//! when something is not there.

use std::path::PathBuf;

use clap::Parser;
use solocron::cli::{Cli, CliCommand, Exit, Screen, read};
use solocron::time::UtcMillis;

/// 2026-11-20T12:00:00Z, a Friday.
const NOON: UtcMillis = UtcMillis(1_795_176_000_000);

const GOOD: &str = r#"
[cluster]
name = "billing"
store = "local"

[jobs.backup]
schedule = "30 2 * * *"
timezone = "Europe/Berlin"
command = ["backup"]

[jobs.report]
schedule = "0 9 * * 1-5"
timezone = "America/New_York"
command = ["report"]

[jobs.heartbeat]
schedule = "0 */6 * * *"
command = ["heartbeat"]

[jobs.retired]
schedule = "* * * * *"
command = ["retired"]
enabled = false
"#;

/// Exit, stdout and stderr of a command.
struct Shown {
    exit: Exit,
    out: String,
    err: String,
}

/// A folder with a jobs.toml.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(file: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("jobs.toml"), file).expect("written");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("jobs.toml")
    }

    /// Runs a command on this folder, whose name is taken out of what it prints.
    async fn run(&self, words: &[&str]) -> Shown {
        let folder = self.0.path().to_str().expect("text");
        let file = self.file();
        let flags = ["--config", file.to_str().expect("text"), "--state-dir", folder];
        let Shown { exit, out, err } = run(&[words, &flags].concat()).await;
        Shown { exit, out: out.replace(folder, "FOLDER"), err: err.replace(folder, "FOLDER") }
    }
}

async fn run(words: &[&str]) -> Shown {
    let cli = Cli::try_parse_from(["solocron"].iter().chain(words)).expect("a good command line");
    let CliCommand::Read(command) = &cli.command else { panic!("{words:?} changes something") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::plain(&mut out, &mut err);
    let result = read(command, &cli.global, NOON, &mut screen).await;
    drop(screen);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(out), text(err));
    match result {
        Ok(exit) => Shown { exit, out, err },
        Err(failure) => Shown { exit: failure.exit, out, err: err + &failure.message },
    }
}

#[tokio::test]
async fn the_coming_ticks_of_all_jobs_are_in_order_of_time_with_local_time_and_distance() {
    let shown = Folder::with(GOOD).run(&["next", "-n", "2"]).await;
    assert_eq!((shown.exit, shown.err.as_str()), (Exit::Done, ""));
    insta::assert_snapshot!(shown.out);
}

#[tokio::test]
async fn without_a_job_the_next_tick_of_each_is_shown() {
    let shown = Folder::with(GOOD).run(&["next"]).await;
    let jobs: Vec<&str> =
        shown.out.lines().skip(1).map(|line| line.split(' ').next().unwrap_or("")).collect();
    assert_eq!(jobs, ["report", "heartbeat", "backup"], "{}", shown.out);
    let shown = Folder::with(GOOD).run(&["next", "backup"]).await;
    assert_eq!(shown.out.lines().count(), 11, "{}", shown.out);
}

#[tokio::test]
async fn programs_get_ticks_with_their_milliseconds_and_local_time() {
    let shown = Folder::with(GOOD).run(&["next", "backup", "-n", "2", "--format", "json"]).await;
    insta::assert_snapshot!(shown.out);
}

#[tokio::test]
async fn ticks_can_be_asked_for_after_any_instant() {
    let after = ["next", "backup", "-n", "1", "--after", "2026-11-01T00:00:00Z"];
    let shown = Folder::with(GOOD).run(&after).await;
    assert!(shown.out.contains("Sun 2026-11-01 02:30:00 +01:00"), "{}", shown.out);
    assert!(shown.out.contains("19d 10h ago"), "{}", shown.out);
}

#[tokio::test]
async fn an_expression_needs_no_file() {
    let shown = run(&["next", "--expr", "@every 90s", "-n", "2", "--config", "/nowhere.toml"]).await;
    assert_eq!((shown.exit, shown.err.as_str()), (Exit::Done, ""));
    assert_eq!(shown.out.lines().count(), 3, "{}", shown.out);
    let shown = run(&["next", "--expr", "H 2 * * *", "-n", "1", "--format", "json"]).await;
    assert!(shown.out.contains("\"job\": null"), "{}", shown.out);
    assert!(shown.err.contains("`H` is a slot"), "{}", shown.err);
}

#[tokio::test]
async fn a_bad_expression_is_underlined_with_the_way_out() {
    let shown = run(&["next", "--expr", "99 2 * * *", "--timezone", "Europe/Berln"]).await;
    assert_eq!((shown.exit, shown.out.as_str()), (Exit::Usage, ""));
    insta::assert_snapshot!(shown.err);
}

#[tokio::test]
async fn a_job_that_is_not_enabled_has_no_ticks_and_that_is_said() {
    let folder = Folder::with(GOOD);
    let shown = folder.run(&["next", "retired"]).await;
    assert_eq!((shown.exit, shown.out.as_str()), (Exit::Done, "no ticks are coming\n"));
    assert!(shown.err.contains("job `retired` has `enabled = false`"), "{}", shown.err);
    assert_eq!(folder.run(&["next", "retired", "--format", "json"]).await.out, "[]\n");
}

#[tokio::test]
async fn an_unknown_job_is_refused_with_the_one_that_was_meant() {
    let folder = Folder::with(GOOD);
    for command in ["next", "history", "acts", "logs"] {
        let shown = folder.run(&[command, "bakcup"]).await;
        assert_eq!((shown.exit, shown.out.as_str()), (Exit::Usage, ""), "{command}");
        assert_eq!(
            shown.err,
            "there is no job `bakcup` in FOLDER/jobs.toml\n  help: did you mean `backup`?\n  \
             note: known jobs: backup, heartbeat, report, retired"
        );
    }
}

#[tokio::test]
async fn a_good_file_is_summed_up_in_one_line() {
    let shown = Folder::with(GOOD).run(&["check"]).await;
    assert_eq!((shown.exit, shown.err.as_str()), (Exit::Done, ""));
    assert_eq!(shown.out, "FOLDER/jobs.toml: 4 jobs (1 not enabled), no errors, no warnings\n");
    let shown = Folder::with(GOOD).run(&["check", "--format", "json"]).await;
    let report: serde_json::Value = serde_json::from_str(&shown.out).expect("one document");
    let expected = serde_json::json!({ "file": "FOLDER/jobs.toml", "ok": true, "problems": [] });
    assert_eq!((shown.exit, report), (Exit::Done, expected));
}

#[tokio::test]
async fn warnings_are_drawn_and_refuse_nothing() {
    let shown = Folder::with(&GOOD.replace("[\"report\"]", "[\"ssh\", \"host\"]")).run(&["check"]).await;
    assert_eq!(shown.exit, Exit::Done);
    assert_eq!(shown.out, "FOLDER/jobs.toml: 4 jobs (1 not enabled), no errors, 1 warning\n");
    assert!(shown.err.starts_with("warning: "), "{}", shown.err);
}

#[tokio::test]
async fn every_problem_of_a_bad_file_is_told_at_once() {
    let folder = Folder::with(&GOOD.replace("30 2 * * *", "99 2 * * *").replace("enabled", "enabledd"));
    let shown = folder.run(&["check"]).await;
    assert_eq!((shown.exit, shown.out.as_str()), (Exit::BadConfig, ""));
    assert!(shown.err.ends_with("FOLDER/jobs.toml: 2 errors\n"), "{}", shown.err);
    let shown = folder.run(&["check", "--format", "json"]).await;
    assert_eq!((shown.exit, shown.err.as_str()), (Exit::BadConfig, ""));
    insta::assert_snapshot!(shown.out);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_a_bad_file_for_people_and_programs() {
    let shown = run(&["check", "--config", "/nowhere.toml"]).await;
    assert_eq!((shown.exit, shown.out.as_str()), (Exit::BadConfig, ""));
    assert!(shown.err.starts_with("there is no /nowhere.toml"), "{}", shown.err);
    let shown = run(&["check", "--config", "/nowhere.toml", "--format", "json"]).await;
    assert_eq!((shown.exit, shown.err.as_str()), (Exit::BadConfig, ""));
    let report: serde_json::Value = serde_json::from_str(&shown.out).expect("one document");
    assert_eq!((&report["ok"], &report["file"]), (&false.into(), &"/nowhere.toml".into()));
    assert_eq!(report["problems"][0]["line"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_local_store_that_nobody_made_is_not_made_by_a_reader() {
    let folder = Folder::with(GOOD);
    for command in ["status", "history", "acts"] {
        let shown = folder.run(&[command]).await;
        assert_eq!((shown.exit, shown.out.as_str()), (Exit::StoreUnreachable, ""), "{command}");
        assert!(shown.err.starts_with("local store FOLDER/store.sqlite3 is not there"), "{}", shown.err);
    }
    assert!(!folder.0.path().join("store.sqlite3").exists());
}

#[tokio::test]
async fn a_redis_that_is_down_is_named_with_a_way_out() {
    // Port 1 is privileged and taken by nobody: the connection is refused at once.
    let shown = Folder::with(GOOD).run(&["status", "--store", "redis://127.0.0.1:1/0"]).await;
    assert_eq!((shown.exit, shown.out.as_str()), (Exit::StoreUnreachable, ""));
    assert!(shown.err.contains("redis://127.0.0.1:1/0"), "{}", shown.err);
    assert!(shown.err.contains("--store or SOLOCRON_STORE"), "{}", shown.err);
}

#[tokio::test]
async fn the_man_page_names_every_command() {
    let shown = run(&["man"]).await;
    assert_eq!(shown.exit, Exit::Done);
    for command in ["run", "check", "next", "status", "history", "logs", "acts", "exec", "import crontab"] {
        assert!(shown.out.contains(command), "{command} is missing");
    }
}

#[test]
fn arguments_are_checked_before_anything_is_asked_and_refused_in_plain_words() {
    for (words, said) in [
        (&["history", "--since", "tomorrow"][..], "it is neither a duration nor a time: write `2h`"),
        (&["history", "--outcome", "failled"], "failed"),
        (&["history", "--node", "a b"], "contains ` `"),
        (&["acts", "-n", "0"], "1..=1000"),
        (&["acts", "a", "--format", "text"], "invalid value 'text'"),
        (&["trigger", "a", "--tick", "yesterday"], "write `02:30` or `2026-11-23 02:30`"),
        (&["next", "--after", "yesterday"], "expected a time such as `2026-11-23 02:30`"),
        (&["logs", "a", "--run", "xyz"], "it is neither the id of a run nor the beginning of one"),
        (&["pause", "a", "--for", "0s"], "a pause of 0s does nothing"),
        (&["pause"], "<JOB>"),
        (&["pause", "a", "--all"], "cannot be used with"),
        (&["resume"], "<JOB>"),
    ] {
        let error = Cli::try_parse_from(["solocron"].iter().chain(words)).expect_err("a bad argument");
        assert_eq!(error.exit_code(), 2, "{words:?}");
        assert!(error.to_string().contains(said), "{words:?}: {error}");
    }
}

#[tokio::test]
async fn a_file_whose_cluster_cannot_be_told_is_refused_with_the_way_round() {
    for file in [
        GOOD.replace("[cluster]", "[cluster"),
        GOOD.replace("store = ", "store == "),
        GOOD.replace("name = ", "nmae = "),
        "nonsense".to_owned(),
    ] {
        let folder = Folder::with(&file);
        for command in [&["status"][..], &["history"], &["acts"], &["logs", "backup"]] {
            let shown = folder.run(command).await;
            assert_eq!((shown.exit, shown.out.as_str()), (Exit::BadConfig, ""), "{}", shown.err);
            let help = "error: FOLDER/jobs.toml has no usable `[cluster]`\n  help: run `solocron check`, or do without a \
                        file: --cluster NAME --store URL (SOLOCRON_CLUSTER, SOLOCRON_STORE)\n";
            assert!(shown.err.ends_with(help), "{}", shown.err);
        }
        let place = ["--cluster", "billing", "--store", "redis://127.0.0.1:1/0"];
        let shown = folder.run(&[&["status"][..], &place].concat()).await;
        assert_eq!(shown.exit, Exit::StoreUnreachable, "the file is not needed: {}", shown.err);
        assert!(shown.err.starts_with("warning: FOLDER/jobs.toml is invalid ("), "{}", shown.err);
    }
}

#[tokio::test]
async fn a_name_that_is_not_in_the_file_is_noted_where_the_store_cannot_be_asked() {
    let shown = Folder::with(GOOD).run(&["history", "bakcup", "--store", "redis://127.0.0.1:1/0"]).await;
    assert_eq!(shown.exit, Exit::StoreUnreachable);
    let note = "note: there is no job `bakcup` in FOLDER/jobs.toml; did you mean `backup`?";
    assert!(shown.err.ends_with(note), "{}", shown.err);
}
