//! Guards that are made ahead of their runs.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{Program, Scene, descendants};
use crate::victims::{eventually, is_alive, name_of};

const JOB: &str = "cluster = { name = \"test\", store = \"local\" }\n[jobs.j]\nschedule = \"*/5 * * * * *\"\n\
                   shell = \"echo $PPID >> parents; echo $$ >> owns; exit 3\"\n";

/// A replica whose job has run: before its record is open, a tick has a guard and does not run.
fn at_work() -> (Scene, Program) {
    let scene = Scene::new(JOB);
    let mut replica = scene.run(&[]);
    replica.wait_for_event("run ended");
    (scene, replica)
}

/// A guard that waits for its run.
fn waiting(replica: &Program) -> Pid {
    let waits = |pid: &Pid| name_of(*pid) == "lease-guard-new" && is_alive(*pid);
    eventually("a guard that waits", || descendants(replica.pid()).into_iter().find(waits))
}

/// Whether a run wrote this process id there.
fn wrote(scene: &Scene, name: &str, pid: Pid) -> bool {
    let written = std::fs::read_to_string(scene.path(name)).expect("it ran");
    written.lines().any(|line| line == pid.to_string())
}

/// Whether it goes so for one of some runs: a guard that was found too late may have been let go with its tick.
fn for_a_run(mut goes_so: impl FnMut() -> bool) -> bool {
    (0..5).any(|_| goes_so())
}

#[test]
fn a_run_is_guarded_by_the_guard_that_was_made_ahead_of_it() {
    let (scene, mut replica) = at_work();
    assert!(for_a_run(|| {
        let guard = waiting(&replica);
        assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
        wrote(&scene, "parents", guard)
    }));
}

/// The main process that such a guard has ready.
fn child_of(guard: Pid) -> Pid {
    let waits = |pid: &Pid| name_of(*pid) == "lease-guard-job" && is_alive(*pid);
    eventually("a main process that waits", || descendants(guard).into_iter().find(waits))
}

#[test]
fn a_command_is_executed_by_the_process_that_was_made_ahead_of_it() {
    let (scene, mut replica) = at_work();
    assert!(for_a_run(|| {
        let child = child_of(waiting(&replica));
        assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
        wrote(&scene, "owns", child)
    }));
}

#[test]
fn a_main_process_that_was_killed_while_it_waited_costs_nothing() {
    let (scene, mut replica) = at_work();
    assert!(for_a_run(|| {
        let guard = waiting(&replica);
        let child = child_of(guard);
        kill(child, Signal::SIGKILL).expect("it waits");
        assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
        wrote(&scene, "parents", guard) && !wrote(&scene, "owns", child)
    }));
}

#[test]
fn a_main_process_that_waits_is_gone_with_its_guard() {
    let (_scene, replica) = at_work();
    let guard = waiting(&replica);
    let child = child_of(guard);
    kill(guard, Signal::SIGKILL).expect("it waits");
    eventually("the end of what waits", || (!is_alive(child)).then_some(()));
}

#[test]
fn a_guard_that_waits_is_gone_with_its_replica() {
    let scene = Scene::new(JOB);
    let replica = scene.run(&[]);
    let guard = waiting(&replica);
    let child = child_of(guard);
    replica.signal(Signal::SIGKILL);
    replica.wait_until_all_gone();
    eventually("their end", || (!is_alive(guard) && !is_alive(child)).then_some(()));
}

#[test]
fn a_guard_that_was_killed_while_it_waited_costs_nothing() {
    let (_scene, mut replica) = at_work();
    kill(waiting(&replica), Signal::SIGKILL).expect("it waits");
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
}

#[test]
fn a_guard_that_was_frozen_while_it_waited_is_woken() {
    let (scene, mut replica) = at_work();
    let guard = waiting(&replica);
    kill(guard, Signal::SIGSTOP).expect("it waits");
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
    assert!(wrote(&scene, "parents", guard));
}

#[test]
fn a_guard_that_does_not_come_up_is_given_up() {
    // The first renewal, with which it would be woken, is far away, and so is the next tick, which would ask for one.
    let seldom = JOB.replace("*/5 *", "*/12 *");
    let scene = Scene::new(&format!("{seldom}lease = \"2m\"\n"));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("run ended");
    let guard = waiting(&replica);
    kill(guard, Signal::SIGSTOP).expect("it waits");
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["reason"], "node_lost", "{ended}");
    assert!(!is_alive(guard));
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
}
