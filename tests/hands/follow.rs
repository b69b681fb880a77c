//! A run that is followed line by line: from its own machine, and from another one.

use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Program, Scene};
use crate::stage::file_of;

/// Two attempts, each of which prints a line, waits for a file, prints another one and fails.
fn file(go: &Path) -> String {
    let waits = format!("while [ ! -e {} ]; do sleep 0.1; done", go.display());
    file_of(&format!(
        "[jobs.hand]\nschedule = \"0 0 29 2 *\"\nretries = 1\n\
         retry_delay = \"1100ms\"\nshell = \"echo first of $SOLOCRON_ATTEMPT; {waits}; echo last of $SOLOCRON_ATTEMPT; exit 3\"\n"
    ))
}

/// A replica, and a job that it has told the store of.
fn stage(go: &Path) -> (Scene, Program) {
    let scene = Scene::new(&file(go));
    let replica = scene.run(&[]);
    let deadline = SystemClock.boot().plus(DEADLINE);
    while !Program::start(&mut scene.command(&["resume", "hand"])).wait().status.success() {
        assert!(SystemClock.boot() < deadline, "the replica does not tell the store of its job");
    }
    (scene, replica)
}

/// Follows a run, on the replica's machine or on another one.
fn follow(scene: &Scene, is_here: bool) -> Program {
    let state = scene.path(if is_here { "state" } else { "elsewhere" }).display().to_string();
    let store = format!("local:{}", scene.path("state/store.sqlite3").display());
    let place = ["--state-dir", &state, "--store", &store];
    Program::start(&mut scene.command(&[&["trigger", "hand", "--follow"][..], &place].concat()))
}

fn stop(replica: Program) {
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn on_its_own_machine_all_attempts_are_printed_as_they_come() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let (scene, replica) = stage(&go);
    let mut followed = follow(&scene, true);
    // It waits for the file: what it prints before that is not printed at its end.
    followed.wait_for("of its output", |line| line.contains("out first of 1"));
    std::fs::write(&go, "").expect("a writable folder");
    let said = followed.wait().expect_code(3).log;
    for line in ["first of 1", "last of 1", "first of 2", "last of 2"] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    assert!(said.contains("failed on n") && !said.contains("runs on"), "{said}");
    stop(replica);
}

#[test]
fn from_another_machine_all_attempts_are_printed_as_they_come() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let (scene, replica) = stage(&go);
    let mut followed = follow(&scene, false);
    followed.wait_for("where it runs", |line| line == "runs on n");
    // It waits for the file: what it prints before that is not printed at its end.
    followed.wait_for("of its output", |line| line.contains("out first of 1"));
    followed.wait_for("that it waits", |line| line.starts_with("waiting for the end of the run on n"));
    std::fs::write(&go, "").expect("a writable folder");
    let said = followed.wait().expect_code(3).log;
    for line in ["first of 1", "last of 1", "first of 2", "last of 2"] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    assert!(said.contains("failed on n"), "{said}");
    stop(replica);
}

#[test]
fn of_a_run_elsewhere_that_ends_at_once_the_whole_output_is_printed() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    std::fs::write(&go, "").expect("a writable folder");
    let (scene, replica) = stage(&go);
    let said = follow(&scene, false).wait().expect_code(3).log;
    for line in ["out first of 1", "out last of 1", "out first of 2", "out last of 2"] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    stop(replica);
}

#[test]
fn an_interrupt_leaves_the_run_alone_and_tells_how_to_stop_it() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let (scene, mut replica) = stage(&go);
    let mut followed = follow(&scene, true);
    followed.wait_for("of its output", |line| line.contains("out first of 1"));
    followed.signal(Signal::SIGINT);
    let said = followed.wait().expect_code(130).log;
    assert!(said.contains("continues; `solocron kill hand` stops it"), "{said}");
    std::fs::write(&go, "").expect("a writable folder");
    let ended = replica.wait_for_event("run ended");
    assert_eq!((&ended["outcome"], &ended["attempt"]), (&"failed".into(), &2.into()));
    stop(replica);
}

#[test]
fn the_log_and_the_history_show_the_same_fence_and_duration_of_all_attempts() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    std::fs::write(&go, "").expect("a writable folder");
    let (scene, mut replica) = stage(&go);
    follow(&scene, true).wait().expect_code(3);
    let ended = replica.wait_for_event("run ended");
    let history = scene.command(&["history", "hand", "--format", "json"]).output().expect("the program");
    let history: Value = serde_json::from_slice(&history.stdout).expect("JSON");
    let entry = &history[0];
    let at = |name: &str| entry[name].as_str().expect("a time").parse::<jiff::Timestamp>().expect("RFC 3339");
    let took = at("finished").as_millisecond() - at("started").as_millisecond();
    assert_eq!(ended["took_ms"].as_i64(), Some(took), "{ended}: {entry}");
    assert!(took >= 1_100, "with the pause between its attempts: {took}");
    assert!(ended["fence"].is_i64() && ended["fence"] == entry["fence"], "{ended}: {entry}");
    stop(replica);
}
