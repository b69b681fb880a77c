//! Guards that are killed together with what makes them, and guards that their own jobs stop.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::time::{Clock, SystemClock};

use crate::process::{Program, Scene};
use crate::victims::{Left, eventually, is_alive, parent_of, written};
use crate::{HIDING, LEFT_OF_THE_LEASE};

/// A run with a child that has left its group and cleared its environment.
fn hiding(jobs: &str) -> (Scene, Program, Left, Pid) {
    let scene = Scene::new(jobs);
    let replica = scene.run(&["--drain", "1s", "--log-level", "debug"]);
    let (left, main) = (Left::of(&scene), written(&scene, "main"));
    (scene, replica, left, parent_of(main))
}

fn expect_lost(mut replica: Program, left: &Left) {
    assert_eq!(replica.wait_for_event("run ended")["reason"], "node_lost");
    assert!(!left.is_alive(), "the run is over when nothing of it is left");
    replica.wait_for_event("run started");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_guard_and_what_makes_guards_killed_at_one_blow_leave_nothing() {
    let (_scene, replica, left, guard) = hiding(HIDING);
    let nursery = parent_of(guard);
    assert_eq!(parent_of(nursery), replica.pid());
    // So that it does not kill what the guard leaves.
    kill(nursery, Signal::SIGSTOP).expect("it makes guards");
    kill(guard, Signal::SIGKILL).expect("it guards");
    kill(nursery, Signal::SIGKILL).expect("it makes guards");
    expect_lost(replica, &left);
}

#[test]
fn a_guard_killed_long_after_what_has_made_it_leaves_nothing_either() {
    let (_scene, replica, left, guard) = hiding(HIDING);
    let nursery = parent_of(guard);
    kill(nursery, Signal::SIGKILL).expect("it makes guards");
    eventually("a replica that has reaped it", || {
        (!std::path::Path::new(&format!("/proc/{nursery}")).exists()).then_some(())
    });
    assert_eq!(parent_of(guard), replica.pid());
    assert!(is_alive(guard) && left.is_alive(), "a guard goes on without what has made it");
    kill(guard, Signal::SIGKILL).expect("it guards");
    expect_lost(replica, &left);
    eventually("a replica that has reaped the guard", || {
        (!std::path::Path::new(&format!("/proc/{guard}")).exists()).then_some(())
    });
}

#[test]
fn what_makes_guards_is_killed_and_the_runs_of_other_guards_go_on() {
    let both = HIDING.replace(
        "[jobs.j]",
        "[jobs.other]\nschedule = \"* * * * * *\"\nshell = 'echo $$ > o; mv o other; sleep 600'\n[jobs.j]",
    );
    let (scene, mut replica, left, guard) = hiding(&both);
    let other = written(&scene, "other");
    kill(parent_of(guard), Signal::SIGKILL).expect("it makes guards");
    kill(guard, Signal::SIGKILL).expect("it guards");
    let ended = replica.wait_for_event("run ended");
    assert_eq!((&ended["job"], &ended["reason"]), (&"j".into(), &"node_lost".into()));
    assert!(!left.is_alive());
    replica.wait_for_event_of("run started", |started| started["job"] == "j");
    assert!(is_alive(other) && is_alive(parent_of(other)));
}

/// A job that ignores SIGTERM, and whose hidden child keeps its guard stopped.
const STOPPER: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.j]
schedule = "* * * * * *"
lease = "20s"
kill_grace = "1s"
shell = '''
trap '' TERM
(setsid env -i sh -c 'trap "" TERM; echo $$ > new; mv new left; while :; do kill -STOP '$PPID'; sleep 0.02; done' &)
until [ -e left ]; do sleep 0.01; done
echo $$ > new-main; mv new-main main
while :; do sleep 1; done
'''
"#;

#[test]
fn a_guard_that_its_job_stops_is_done_without_once_the_replica_is_gone() {
    let (scene, replica, left, guard) = hiding(STOPPER);
    let main = written(&scene, "main");
    let killed = SystemClock.boot();
    replica.signal(Signal::SIGKILL);
    eventually("the end of the run", || {
        (!left.is_alive() && !is_alive(main) && !is_alive(guard)).then_some(())
    });
    let took = SystemClock.boot().since(killed);
    assert!(took < LEFT_OF_THE_LEASE.min(Duration::from_secs(10)), "{took:?}");
    replica.wait_until_all_gone();
}
