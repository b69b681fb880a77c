//! A job of the file, here and now.

use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use crate::process::{Ended, Program};
use crate::stage::Stage;

/// Jobs that are never due within a test, but for `busy`.
const JOBS: &str = r#"
[cluster]
name = "test"
store = "local"
[jobs.own]
schedule = "0 0 29 2 *"
retries = 3
cwd = "/"
enabled = false
env = { WORD = "hidden", GIVEN = "${GIVEN}" }
shell = '''
pwd
echo $SOLOCRON_JOB $SOLOCRON_CAUSE $SOLOCRON_NODE $SOLOCRON_ATTEMPT $WORD $GIVEN
echo "$SOLOCRON_STORE$SOLOCRON_CONFIG"
cat
echo to stderr >&2
exit 9
'''
[jobs.busy]
schedule = "*/10 * * * * *"
lease = "30s"
shell = "echo up; sleep 600"
[jobs.slow]
schedule = "0 0 29 2 *"
shell = "sleep 600"
timeout = "500ms"
kill_grace = "0s"
[jobs.deaf]
schedule = "0 0 29 2 *"
shell = "trap 'echo cleaned up; exit 0' TERM; echo up; while :; do sleep 0.05; done"
[jobs.foreign]
schedule = "0 0 29 2 *"
user = "nobody"
shell = "id -un; pwd; echo $HOME $USER"
"#;

/// Any command with these jobs.
fn command(stage: &Stage, words: &[&str]) -> Command {
    std::fs::write(stage.scene.path("jobs.toml"), JOBS).expect("a writable folder");
    let mut command = stage.command(words);
    command.env("GIVEN", "s3cret");
    command
}

fn call(stage: &Stage, words: &[&str]) -> Ended {
    Program::start(&mut command(stage, &[&["exec", "--job"], words].concat())).wait()
}

pub(crate) fn a_job_of_the_file_runs_here_as_a_replica_would_start_it(stage: &Stage) {
    let output = command(stage, &["exec", "--job", "own"]).output().expect("the program");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(9), "{err}");
    assert_eq!(
        out, "/\nown manual here 1 hidden s3cret\n\n",
        "no setting of solocron's, and nothing to read"
    );
    // The first use of a name takes two seconds, which are told.
    let waited = "waiting until lock `own` is certainly free: 2s for a new name, one lease at most after its holder crashed\n";
    assert_eq!(err, format!("{waited}to stderr\n"));
    let entry = stage.newest("own");
    assert_eq!((&entry["cause"], &entry["outcome"]), (&"manual".into(), &"failed".into()));
    assert_eq!(
        (&entry["node"], &entry["exit_code"], &entry["attempt"]),
        (&"here".into(), &9.into(), &1.into())
    );
}

pub(crate) fn a_job_that_runs_here_runs_nowhere_else(stage: &Stage) {
    let mut program = Program::start(&mut command(stage, &["exec", "--job", "busy"]));
    program.wait_for("that it is up", |line| line == "up");
    let log = ["run", "--log-format", "json", "--log-level", "debug", "--node", "n1"];
    let mut replica = Program::start(&mut command(stage, &log));
    let skipped = replica.wait_for_event("tick skipped");
    assert_eq!((&skipped["job"], &skipped["reason"]), (&"busy".into(), &"overlap".into()));
    let said = call(stage, &["busy"]).expect_code(75).log;
    assert!(said.contains("lock `busy` is held by here, since"), "{said}");
    program.signal(Signal::SIGTERM);
    program.wait().expect_code(143);
    // Its ticks are where they were: the next one runs.
    replica.wait_for_event_of("run started", |event| event["job"] == "busy");
    let said = call(stage, &["busy"]).expect_code(75).log;
    assert!(said.contains("lock `busy` is held by n1, since"), "{said}");
    replica.signal(Signal::SIGTERM);
    replica.signal(Signal::SIGTERM);
    replica.wait();
}

pub(crate) fn a_job_that_runs_here_is_stopped_in_order_and_by_its_timeout(stage: &Stage) {
    let mut program = Program::start(&mut command(stage, &["exec", "--job", "deaf"]));
    program.wait_for("that it is up", |line| line == "up");
    program.signal(Signal::SIGINT);
    let said = program.wait().expect_code(130).log;
    assert!(said.contains("cleaned up"), "{said}");
    // With 0, nothing is told of the wait.
    let said = call(stage, &["slow", "--conflict-exit-code", "0"]).expect_code(137).log;
    assert_eq!(said, "error: job `slow` was stopped: it did not end within its `timeout` of 500ms");
    assert_eq!(stage.newest("slow")["outcome"], "timed_out");
}

pub(crate) fn a_job_runs_here_as_its_user_or_not_at_all(stage: &Stage) {
    if geteuid().is_root() {
        let said = call(stage, &["foreign", "--conflict-exit-code", "0"]).expect_code(0).log;
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((lines[0], lines[1]), ("nobody", "/"), "{said}");
        assert!(lines[2].ends_with(" nobody"), "{said}");
    } else {
        let said = call(stage, &["foreign"]).expect_code(1).log;
        assert!(said.contains("cannot run as"), "{said}");
    }
}

#[test]
fn a_dry_run_shows_what_would_run_and_no_value_and_asks_no_store() {
    let stage = Stage::local();
    let dry = |job: &str| {
        let words = ["exec", "--job", job, "--dry-run", "--store", "redis://127.0.0.1:1/0"];
        Program::start(&mut command(&stage, &words)).wait().expect_code(0).log
    };
    let said = dry("own");
    for line in ["job          own", "folder       /"] {
        assert!(said.lines().any(|shown| shown == line), "{said}");
    }
    assert!(said.contains("\ncommand      /bin/sh -c 'pwd\n"), "{said}");
    let (_, names) = said.split_once("\nenvironment  ").expect("a list");
    let names: Vec<&str> = names.split_whitespace().collect();
    for name in ["GIVEN", "PATH", "SOLOCRON_FENCE", "WORD"] {
        assert!(names.contains(&name), "{said}");
    }
    assert!(
        !names.contains(&"SOLOCRON_STORE") && !said.contains("hidden") && !said.contains("s3cret"),
        "{said}"
    );
    let said = dry("foreign");
    assert!(said.contains("user         nobody\n") && said.contains("HOME"), "{said}");
    assert!(!said.contains("GIVEN"), "another user's environment is a clean one: {said}");
    assert_eq!(said.contains("help: run it as root"), !geteuid().is_root(), "{said}");
    assert!(!stage.scene.path("store.sqlite3").exists());
}

#[test]
fn what_cannot_be_run_here_is_refused_with_what_is_wrong() {
    let stage = Stage::local();
    for (words, code, said) in [
        (&["onw"][..], 2, "did you mean `own`?"),
        (&["own", "--lease", "9s"], 2, "--lease"),
        (&["own", "--lock", "own"], 2, "--lock"),
        (&["own", "--", "true"], 2, "CMD"),
        (&["own", "--cluster", "other"], 2, "cluster `other` is not the one of"),
    ] {
        let log = call(&stage, words).expect_code(code).log;
        assert!(log.contains(said), "{words:?}: {log}");
    }
    let mut without = command(&stage, &["exec", "--job", "own"]);
    let said = Program::start(without.env_remove("GIVEN")).wait().expect_code(78).log;
    assert!(said.contains("`GIVEN`, which is not set"), "{said}");
    let mut dry = command(&stage, &["exec", "--lock", "own", "--dry-run", "--", "true"]);
    assert!(Program::start(&mut dry).wait().expect_code(2).log.contains("--dry-run"));
}
