//! The program as PID 1 of a PID namespace, as in a container: it reaps what jobs leave behind, passes signals on, and
//! ends as its child does.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use process::{Program, Scene, descendants};

/// The first run leaves an orphan behind, which ends once it has come down to its guard; the runs after it look whether it
/// is gone. A zombie is still there.
const ORPHANING: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.orphaning]
schedule = "* * * * * *"
shell = '''
if [ ! -e started ]; then
  : > started
  (setsid sh -c 'until [ "${parent#lease-guard}" != "$parent" ]; do read -r _ _ _ id _ < /proc/$$/stat; read -r parent < /proc/$id/comm; done; echo $$ > new; mv new orphan' &)
elif [ -e orphan ]; then
  [ -e "/proc/$(cat orphan)" ] && echo "the orphan is there" || echo "the orphan is reaped"
fi
'''
"#;

/// The program as PID 1, under `unshare`.
fn as_first(scene: &Scene, args: &[&str]) -> Program {
    let mut command = Command::new("unshare");
    // A user namespace gives those who are not root the right to the other two. `unshare` ends with the test, and PID 1
    // with `unshare`.
    let flags: &[&str] = if geteuid().is_root() { &["-pf"] } else { &["-Urpf"] };
    command.args(flags).args(["--mount-proc", "--kill-child", env!("CARGO_BIN_EXE_solocron"), "run"]);
    Program::start(scene.equip(&mut command).args(["--log-format", "json", "--node", "n"]).args(args))
}

/// PID 1, by its id outside of the namespace.
fn first(unshare: &Program) -> Pid {
    *descendants(unshare.pid()).first().expect("unshare has started it")
}

#[test]
fn orphans_of_jobs_are_reaped() {
    let scene = Scene::new(ORPHANING);
    let mut replica = as_first(&scene, &["--job-output", "stdout"]);
    replica.wait_for("about the orphan", |line| line.contains("the orphan is reaped"));
}

#[test]
fn sigterm_drains_and_ends_with_0() {
    let scene = Scene::new(ORPHANING);
    let mut replica = as_first(&scene, &[]);
    replica.wait_for_event("run ended");
    kill(first(&replica), Signal::SIGTERM).expect("it runs");
    let log = replica.wait().expect_code(0).log;
    assert!(log.contains("draining") && log.contains("replica stopped"), "{log}");
}

#[test]
fn a_bad_file_exits_78_through_pid_1() {
    let scene = Scene::new("nonsense = 1\n");
    let ended = as_first(&scene, &[]).wait().expect_code(78);
    assert!(ended.log.contains("nonsense"), "{}", ended.log);
}

#[test]
fn a_replica_that_is_killed_is_told_by_the_exit_code_of_pid_1() {
    let scene = Scene::new(ORPHANING);
    let mut replica = as_first(&scene, &[]);
    replica.wait_for_event("replica started");
    let children = descendants(first(&replica));
    kill(*children.first().expect("PID 1 has a child"), Signal::SIGKILL).expect("it runs");
    replica.wait().expect_code(128 + 9);
}
