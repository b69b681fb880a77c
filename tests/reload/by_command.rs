//! `solocron reload`: it waits, says how it went on each replica, and exits so.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use super::process::{Ended, Program, Scene};
use super::{LOADED, file, says, write};

/// Far more than a heartbeat takes, also on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn reload(scene: &Scene) -> Ended {
    Program::start(&mut scene.command(&["reload"])).wait()
}

#[test]
fn a_good_file_is_in_effect_when_the_command_returns() {
    let scene = Scene::new(&file(&[("goes", &says("one"))]));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    write(&scene, &file(&[("comes", &says("two"))]));
    let said = reload(&scene).expect_code(0).log;
    assert!(said.contains("n: jobs.toml loaded ("), "{said}");
    replica.wait_for_event(LOADED);
    let again = reload(&scene).expect_code(0).log;
    assert!(again.contains("no job has changed"), "{again}");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_file_that_was_loaded_as_soon_as_it_was_saved_is_told_with_what_that_changed() {
    let scene = Scene::new(&file(&[("goes", &says("one"))]));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    write(&scene, &file(&[("comes", &says("two"))]));
    replica.wait_for_event(LOADED);
    let said = reload(&scene).expect_code(0).log;
    assert!(said.contains("ago when it was saved: 1 added (comes), 1 removed (goes)"), "{said}");
    let again = reload(&scene).expect_code(0).log;
    assert!(again.contains("no job has changed"), "{again}");
    let hash = again.split(['(', ')']).nth(1).expect("a hash");
    // A heartbeat reports the file: the first one, if it was loaded so soon.
    let deadline = SystemClock.boot().plus(PATIENCE);
    loop {
        let status = Program::start(&mut scene.command(&["status"])).wait().log;
        if status.lines().any(|line| line.split(' ').any(|word| word == hash)) {
            break;
        }
        assert!(SystemClock.boot() < deadline, "{hash} in {status}");
    }
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_bad_file_exits_78_with_every_problem_as_check_draws_it() {
    let scene = Scene::new(&file(&[("stays", &says("one"))]));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    write(
        &scene,
        &file(&[("a", "schedule = \"61 * * * *\"\nshell = \"x\""), ("b", "schedule = \"@daily\"")]),
    );
    let said = reload(&scene).expect_code(78).log;
    let checked = Program::start(&mut scene.command(&["check"])).wait().expect_code(78).log;
    assert!(said.contains("n: jobs.toml is invalid: the current jobs stay"), "{said}");
    assert!(checked.lines().all(|line| said.contains(line)), "{said}\nbut check says:\n{checked}");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn replicas_under_one_parent_answer_each_for_itself() {
    let scene = Scene::new(&file(&[("goes", &says("one"))]));
    let mut replicas = scene.run(&["--replicas", "2"]);
    for _ in 0..2 {
        replicas.wait_for("of a replica's start", |line| line.contains("replica started"));
    }
    write(&scene, &file(&[("comes", &says("two"))]));
    let said = reload(&scene).expect_code(0).log;
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("waiting ")).collect();
    assert!(
        matches!(lines[..], [one, two] if one.starts_with("n-1: ") && two.starts_with("n-2: ")),
        "{said}"
    );
    write(&scene, "nonsense = 1\n");
    let said = reload(&scene).expect_code(78).log;
    assert_eq!(said.matches("is invalid: the current").count(), 2, "{said}");
    assert_eq!(said.matches("`nonsense`").count(), 1, "the problems of one file are told once:\n{said}");
    replicas.signal(Signal::SIGTERM);
    replicas.wait().expect_code(0);
}

#[test]
fn another_cluster_exits_1_and_says_restart() {
    let scene = Scene::new(&file(&[("stays", &says("one"))]));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    write(&scene, &file(&[("stays", &says("one"))]).replace("\"test\"", "\"best\""));
    let said = reload(&scene).expect_code(1).log;
    assert!(said.contains("`[cluster] name`") && said.contains("restart the replica"), "{said}");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn without_a_replica_it_exits_1_and_says_where_it_looked() {
    let scene = Scene::new(&file(&[("stays", &says("one"))]));
    for _ in 0..2 {
        let said = reload(&scene).expect_code(1).log;
        assert!(said.contains("no replica is running here") && said.contains("state/replicas"), "{said}");
        // One that was killed is none, although it leaves its socket behind.
        let mut replica = scene.run(&[]);
        replica.wait_for_event("replica started");
        replica.signal(Signal::SIGKILL);
        replica.wait_until_all_gone();
    }
    let left = std::fs::read_dir(scene.path("state/replicas")).expect("a folder").count();
    assert_eq!(left, 1, "what the first left behind, the second cleared away");
}
