//! A store that goes away, forgets, or gives the lock to another.

use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::process::Program;
use crate::stage::Stage;

/// Says what it is told, and goes on.
const DEAF: &str = "trap 'echo told' TERM; echo up; while :; do sleep 0.05; done";

fn start(stage: &Stage, lease: &str) -> Program {
    let mut program = Program::start(&mut stage.exec("a", &["--lease", lease], DEAF));
    program.wait_for("that it is up", |line| line == "up");
    program
}

#[test]
fn a_command_is_stopped_before_its_lock_ends_when_the_store_does_not_answer() {
    let stage = Stage::redis();
    let mut program = start(&stage, "10s");
    let server = stage.server.as_ref().expect("a server");
    let began = SystemClock.boot();
    server.freeze();
    program.wait_for("that its lock is lost", |line| {
        line == "error: lock `a` is lost (could not renew it in time): the command is stopped"
    });
    let took = SystemClock.boot().since(began);
    assert!(took < Duration::from_secs(10), "before its lease is over: {took:?}");
    let said = program.wait().expect_code(70).log;
    assert!(said.lines().any(|line| line == "told"), "in order: {said}");
    server.thaw();
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
    assert!(!said.contains("could not be recorded"), "its lock is lost anyway: {said}");
    let flags = ["--lease", "5s", "--wait", "50s", "--conflict-exit-code", "0"];
    let said = stage.call("a", &flags, "echo it ran").expect_code(0).log;
    assert_eq!(said, "it ran");
}

#[test]
fn a_lock_that_was_given_to_another_ends_the_command_at_once() {
    let stage = Stage::redis();
    let program = start(&stage, "20s");
    let server = stage.server.as_ref().expect("a server");
    server.cli(&["HSET", "solocron:{test/a}:state", "fence", "9000000000000000"]);
    let said = program.wait().expect_code(70).log;
    assert!(
        said.contains("lock `a` is lost (another replica has it, or it was released with `unlock`)"),
        "{said}"
    );
    assert!(!said.contains("told"), "somebody else may run already: {said}");
}

#[test]
fn a_store_that_forgets_everything_is_told_of_the_lock_before_anybody_else_has_it() {
    let stage = Stage::redis();
    let server = stage.server.as_ref().expect("a server");
    // Without a hurry it would be renewed after 50 s.
    let holder = stage.hold("a", &["--lease", "5m"], ":");
    assert_eq!(server.cli(&["FLUSHALL"]), "OK");
    let said = stage.call("a", &["--wait", "6s", "--lease", "5s"], "echo it ran").expect_code(75).log;
    assert!(said.contains(&holder.run), "{said}");
    holder.let_go().expect_code(0);
}

#[test]
fn a_store_that_is_not_there_is_said_and_nothing_runs() {
    let mut stage = Stage::redis();
    stage.server.as_mut().expect("a server").stop();
    let began = SystemClock.boot();
    let said = stage.call("a", &[], "echo it ran").expect_code(69).log;
    assert!(said.contains(&stage.store) && !said.contains("it ran"), "{said}");
    assert!(said.starts_with("waiting for the store to answer, 2s at most\n"), "{said}");
    let took = SystemClock.boot().since(began);
    assert!(took < Duration::from_secs(6), "no longer than another command: {took:?}");
}
