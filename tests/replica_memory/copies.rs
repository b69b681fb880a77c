//! A state folder that is not one replica's own: copied while it lives, or shared with another of its name.

use std::process::Command;

use crate::LONG;
use crate::process::Program;
use crate::stage::{LEFT, Stage, alive, at_a_run, history, run_of, start, stop};

/// Starts a replica of the same name on a copy of the other's folder, by way of `through`.
fn start_on_a_copy(scene: &Stage, store: &str, through: &[&str]) -> Program {
    let copy = scene.path("copy");
    let copied = Command::new("cp").arg("-a").args([&scene.path("state"), &copy]).status();
    assert!(copied.expect("every system copies").success());
    let program = env!("CARGO_BIN_EXE_solocron");
    let words =
        [through, &[program, "run", "--log-format", "json", "--node", "n", "--store", store]].concat();
    let mut command = Command::new(words[0]);
    scene.equip(&mut command).args(&words[1..]).env("SOLOCRON_STATE_DIR", copy);
    Program::start(&mut command)
}

fn leave_the_run_of_the_original_alone(through: &[&str], reason: &str) {
    let (scene, store, mut original, run) = at_a_run(LONG);

    let mut copy = start_on_a_copy(&scene, &store, through);

    let left = copy.wait_for_event(LEFT);
    assert_eq!((run_of(&left), &left["level"]), (run, &"WARN".into()));
    assert!(left["why"].as_str().is_some_and(|why| why.contains(reason)), "{left}");
    original.wait_for_event("lock renewed");
    original.wait_for_event("lock renewed");
    assert!(!alive(run).is_empty());
    assert_eq!(history(&scene, &store, run)[0]["outcome"], "running");
    stop(original);
}

#[test]
fn a_replica_on_a_copy_of_a_living_ones_folder_lets_that_ones_run_alone() {
    leave_the_run_of_the_original_alone(&["env"], "copy");
}

#[test]
fn so_it_does_in_another_container() {
    let through = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    leave_the_run_of_the_original_alone(&through, "container");
}

#[test]
fn a_run_in_a_container_that_is_gone_is_left_to_its_lease() {
    let scene = Stage::new(LONG);
    let store = format!("local:{}", scene.path("store.db").display());
    let words = ["--pid", "--fork", "--kill-child", "--mount-proc", env!("CARGO_BIN_EXE_solocron"), "run"];
    let mut command = Command::new("unshare");
    let flags = ["--log-format", "json", "--log-level", "debug", "--node", "n", "--store", &store];
    scene.equip(&mut command).args(words).args(flags);
    let mut container = Program::start(&mut command);
    let run = run_of(&container.wait_for_event("run started"));
    container.wait_for_event("lock renewed");
    container.kill();

    let mut replica = start(&scene, &store, &[]);

    let left = replica.wait_for_event(LEFT);
    assert_eq!(run_of(&left), run);
    assert!(left["why"].as_str().is_some_and(|why| why.contains("container")), "{left}");
    stop(replica);
}

#[test]
fn a_second_replica_of_the_name_is_refused_the_folder_and_told_who_has_it() {
    let (scene, store, mut first, run) = at_a_run(LONG);

    let log = start(&scene, &store, &[]).wait().expect_code(1).log;

    let folder = scene.path("state/leases/test/n").display().to_string();
    assert!(log.contains(&format!("process {} on ", first.pid())) && log.contains(&folder), "{log}");
    first.wait_for_event("lock renewed");
    assert_eq!(history(&scene, &store, run)[0]["outcome"], "running");
    let mut other = scene.command(&["run", "--node", "n2", "--log-format", "json", "--store", &store]);
    let mut other = Program::start(&mut other);
    other.wait_for_event("store reached");
    stop(other);
    first.kill();
    let mut next = start(&scene, &store, &[]);
    assert_eq!(run_of(&next.wait_for_event("run ended")), run);
    stop(next);
}
