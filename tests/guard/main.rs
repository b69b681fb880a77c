//! What guards are for: whatever happens to a replica, to a guard, or to both, no process of a run outlives its lock.

mod ahead;
mod breeders;
#[path = "../support/c_program.rs"]
mod c_program;
mod cgroup;
mod escapes;
mod hardships;
mod orphans;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
mod victims;

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process::{Program, Scene};
use solocron::time::{Clock, SystemClock};
use victims::{Victims, eventually, heartbeats, is_alive, parent_of};

/// What `kill_grace` below comes to when the lock is lost: no more than a sixth of the lease.
const LOSS_GRACE: Duration = Duration::from_secs(1);

/// Of the lease this is left for certain when the replica dies: it has renewed a sixth before.
const LEFT_OF_THE_LEASE: Duration = Duration::from_secs(16);

/// A job that ignores SIGTERM, and has a child that does and that has left its group and lost its parent.
const STUBBORN: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.stubborn]
schedule = "* * * * * *"
lease = "20s"
kill_grace = "1s"
shell = '''
trap '' TERM
(setsid sh -c 'echo $$ > new-escaped; mv new-escaped escaped; while :; do sleep 1; done' &)
until [ -e escaped ]; do sleep 0.01; done
echo $$ > new-main; mv new-main main
while :; do sleep 1; done
'''
"#;

fn start_stubborn(extra: &str) -> (Scene, Program, Victims) {
    let scene = Scene::new(&format!("{STUBBORN}{extra}"));
    let replica = scene.run(&["--log-level", "debug"]);
    let victims = Victims::of(&scene);
    (scene, replica, victims)
}

#[test]
fn kill_nine_of_a_replica_leaves_nothing_of_its_run_not_even_what_left_the_group() {
    let (_scene, replica, victims) = start_stubborn("");
    let killed = SystemClock.boot();
    replica.signal(Signal::SIGKILL);
    victims.wait_until_dead();
    let took = SystemClock.boot().since(killed);
    assert!(took >= LOSS_GRACE / 2, "it had its grace: {took:?}");
    assert!(took <= LEFT_OF_THE_LEASE, "{took:?}");
    replica.wait_until_all_gone();
}

#[test]
fn kill_nine_of_a_guard_ends_its_run_at_once_and_is_recorded() {
    let (_scene, mut replica, victims) = start_stubborn("");
    kill(victims.guard(), Signal::SIGKILL).expect("it guards");
    let ended = replica.wait_for_event("run ended");
    assert_eq!(
        (ended["outcome"].as_str(), ended["reason"].as_str()),
        (Some("interrupted"), Some("node_lost"))
    );
    assert!(victims.are_dead(), "the run is over when nothing of it is left");
    // The replica goes on with the next tick, under another guard.
    replica.wait_for_event("run recorded");
    replica.wait_for_event("run started");
}

/// A job with a child that nothing but its parents tells to be of its run.
const HIDING: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.j]
schedule = "* * * * * *"
shell = '''
(setsid env -i sh -c 'echo $$ > new; mv new left; while :; do sleep 1; done' &)
until [ -e left ]; do sleep 0.01; done
echo $$ > new-main; mv new-main main
sleep 600
'''
"#;

#[test]
fn processes_a_killed_guard_leaves_are_dead_before_its_run_ends_even_if_unreaped() {
    let scene = Scene::new(HIDING);
    let mut replica = scene.run(&[]);
    let (left, main) = (victims::Left::of(&scene), victims::written(&scene, "main"));
    let guard = parent_of(main);
    kill(parent_of(guard), Signal::SIGSTOP).expect("it makes guards");
    kill(guard, Signal::SIGKILL).expect("it guards");
    assert_eq!(replica.wait_for_event("run ended")["reason"], "node_lost");
    assert!(!left.is_alive());
}

#[test]
fn kill_nine_of_replica_and_guard_together_leaves_nothing_either() {
    let (_scene, replica, victims) = start_stubborn("");
    replica.signal(Signal::SIGSTOP);
    kill(victims.guard(), Signal::SIGKILL).expect("it guards");
    replica.signal(Signal::SIGKILL);
    victims.wait_until_dead();
    replica.wait_until_all_gone();
}

#[test]
fn a_frozen_guard_is_done_without() {
    let (_scene, mut replica, victims) = start_stubborn("timeout = \"8s\"\n");
    let guard = victims.guard();
    kill(guard, Signal::SIGSTOP).expect("it guards");
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "timed_out", "{ended}");
    assert!(victims.are_dead(), "the run is over when nothing of it is left");
    eventually("the end of the frozen guard", || (!is_alive(guard)).then_some(()));
}

#[test]
fn without_what_makes_guards_the_replica_makes_it_anew() {
    let scene = Scene::new(
        "cluster = { name = \"test\", store = \"local\" }\n[jobs.long]\nschedule = \"* * * * * *\"\n\
         shell = \"sleep 600\"\n[jobs.short]\nschedule = \"* * * * * *\"\nshell = \"exit 3\"\n",
    );
    let mut replica = scene.run(&["--log-level", "debug"]);
    replica.wait_for_event_of("run started", |started| started["job"] == "long");
    assert_eq!(replica.wait_for_event("run ended")["exit_code"], 3);
    // One that was killed is a zombie until the replica asks for the next.
    let nursery = |replica: &Program| {
        let is_it = |pid: &Pid| {
            victims::name_of(*pid) == "lease-guards" && parent_of(*pid) == replica.pid() && is_alive(*pid)
        };
        eventually("what makes guards", || process::descendants(replica.pid()).into_iter().find(is_it))
    };
    // A guard that goes on has no part in it.
    kill(nursery(&replica), Signal::SIGKILL).expect("it runs");
    replica.wait_for("of a run or a guard", |line| {
        assert!(!line.contains("does not start"), "{line}");
        line.contains("\"run ended\"")
    });
    // A run that meets a frozen one is given up after a while, and the next one is made by another.
    kill(nursery(&replica), Signal::SIGSTOP).expect("it runs");
    replica.wait_for_event("guard does not start: `lease-guards` is killed and started again");
    replica.wait_for_event_of("run ended", |ended| ended["exit_code"] == 3);
}

#[test]
fn what_a_job_leaves_in_the_background_when_it_ends_by_itself_is_left_alone() {
    let scene = Scene::new(
        "cluster = { name = \"test\", store = \"local\" }\n[jobs.j]\nschedule = \"* * * * * *\"\n\
         shell = '[ -e left ] || { (setsid sleep 600 & echo $! > new; mv new left); }'\n",
    );
    let mut replica = scene.run(&[]);
    assert_eq!(replica.wait_for_event("run ended")["outcome"], "succeeded");
    let left = victims::Left::of(&scene);
    assert_eq!(replica.wait_for_event("run ended")["outcome"], "succeeded");
    assert!(left.is_alive());
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
    assert!(left.is_alive());
}

/// Two replicas; the one that holds the lock is frozen for two leases.
#[test]
fn a_frozen_replica_has_no_run_left_at_the_next_grant_and_logs_the_loss_once_thawed() {
    let scene = Scene::new(
        "cluster = { name = \"test\", store = \"local\" }\n[jobs.j]\nschedule = \"* * * * * *\"\nlease = \"8s\"\n\
         shell = 'while :; do echo \"$SOLOCRON_FENCE $(cut -d\" \" -f1 /proc/uptime)\" >> beats; sleep 0.02; done'\n",
    );
    let start = |name| {
        Program::start(&mut scene.command(&["run", "--log-format", "json", "--drain", "1s", "--node", name]))
    };
    let mut frozen = start("frozen");
    let old = frozen_run(&mut frozen, &scene);
    let mut other = start("other");
    other.wait_for_event("store reached");
    freeze(&frozen, &scene);
    let new =
        eventually("a run of the other", || heartbeats(&scene).keys().find(|fence| **fence > old).copied());
    let beats = heartbeats(&scene);
    let (last_old, first_new) = (beats[&old].last(), beats[&new].first());
    assert!(last_old < first_new, "{last_old:?} is not before {first_new:?}");
    frozen.signal(Signal::SIGCONT);
    frozen.wait_for_event("lock lost: stopping the run");
    let ended = frozen.wait_for_event("run ended");
    assert_eq!(
        (ended["outcome"].as_str(), ended["reason"].as_str()),
        (Some("interrupted"), Some("lock_lost"))
    );
    // It goes on with later ticks.
    other.signal(Signal::SIGTERM);
    let newest = eventually("a later run", || heartbeats(&scene).keys().find(|fence| **fence > new).copied());
    assert!(newest > new);
}

/// Stops a replica that is not writing: nobody could, while it stands still in the middle of that.
fn freeze(replica: &Program, scene: &Scene) {
    eventually("a moment in which it does not write", || {
        replica.signal(Signal::SIGSTOP);
        let is_free = can_be_written(&scene.path("state/store.sqlite3"));
        if !is_free {
            replica.signal(Signal::SIGCONT);
        }
        is_free.then_some(())
    });
}

fn can_be_written(store: &Path) -> bool {
    let store = rusqlite::Connection::open(store).expect("the embedded store");
    // The other may be writing, and is done before long.
    store.busy_timeout(Duration::from_millis(500)).expect("a number");
    store.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
}

/// The fence of the first run, once it beats.
fn frozen_run(replica: &mut Program, scene: &Scene) -> i64 {
    replica.wait_for_event("store reached");
    eventually("the first heartbeat", || heartbeats(scene).keys().next().copied())
}
