//! Guards in surroundings that are not made for them: many at once, numbers of processes that come back, signals that
//! were ignored before the replica began.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use solocron::time::{Clock, SystemClock};

use crate::process::{Program, Scene};
use crate::victims::{eventually, is_alive};

/// So many runs at once that guards that look at each other's runs would be busy for long.
const MANY: usize = 200;

/// Of a lease of half a minute this is left for certain when the replica dies: it has renewed a sixth before.
const LEFT_OF_THE_LEASE: Duration = Duration::from_secs(25);

#[test]
fn many_runs_that_lose_their_replica_are_dead_before_their_locks_are_free() {
    let mut jobs = String::from("cluster = { name = \"test\", store = \"local\" }\n");
    for number in 0..MANY {
        writeln!(
            jobs,
            "[jobs.j{number}]\nschedule = \"* * * * * *\"\nlease = \"30s\"\nkill_grace = \"1s\"\n\
             shell = \"trap '' TERM; echo $$ >> pids; while :; do sleep 600; done\"\n"
        )
        .expect("a string");
    }
    let scene = Scene::new(&jobs);
    let replica = scene.run(&[]);
    let victims: Vec<Pid> = eventually("all runs", || {
        let pids = std::fs::read_to_string(scene.path("pids")).ok()?;
        let pids: Vec<_> = pids.lines().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect();
        (pids.len() == MANY).then_some(pids)
    });
    let killed = SystemClock.boot();
    replica.signal(Signal::SIGKILL);
    eventually("the end of all runs", || (!victims.iter().any(|victim| is_alive(*victim))).then_some(()));
    let took = SystemClock.boot().since(killed);
    assert!(took <= LEFT_OF_THE_LEASE, "{took:?}");
    replica.wait_until_all_gone();
}

#[test]
fn a_replica_that_was_started_with_sigchld_ignored_hears_of_the_ends_of_its_jobs() {
    let scene = Scene::new(
        "cluster = { name = \"test\", store = \"local\" }\n[jobs.j]\nschedule = \"* * * * * *\"\nshell = \"exit 3\"\n",
    );
    let mut command = Command::new("env");
    command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_solocron"), "run", "--log-format", "json"]);
    let mut replica = Program::start(scene.equip(&mut command));
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
}

#[test]
fn a_job_that_freezes_its_guard_is_heard_of_all_the_same_when_it_ends() {
    let scene = Scene::new(
        "cluster = { name = \"test\", store = \"local\" }\n[jobs.j]\nschedule = \"* * * * * *\"\n\
         lease = \"12s\"\nshell = 'kill -STOP $PPID; exit 3'\n",
    );
    let mut replica = scene.run(&[]);
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
}
