//! Set-uid programs, as sudo is one: what they start cannot be killed by a replica that is not root.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{Pid, User, geteuid};

use crate::c_program::compile;
use crate::process::{Program, Scene};
use crate::victims::{is_alive, written};

/// A replica without rights whose job starts a set-uid program of root's, and is to end soon after.
struct Escape {
    scene: Scene,
    replica: Program,
    escaped: Pid,
}

impl Escape {
    fn start(keys: &str) -> Self {
        assert!(geteuid().is_root(), "only root can make a program set-uid: run this test as root");
        let scene = Scene::new(&format!(
            "cluster = {{ name = \"test\", store = \"local\" }}\n[jobs.j]\nschedule = \"* * * * * *\"\n\
             lease = \"5s\"\nkill_grace = \"100ms\"\ncommand = [\"./escape\", \"escaped\", \"end\"]\n{keys}"
        ));
        let folder = scene.path("");
        let mount = statvfs(&folder).expect("a folder");
        assert!(
            !mount.flags().contains(FsFlags::ST_NOSUID),
            "{folder:?} is nosuid: set TMPDIR to a folder that is not"
        );
        set_permissions(compile(&folder, "escape", &[]), Permissions::from_mode(0o4755)).expect("it is ours");
        let user = nobody();
        chown(&folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("root may");
        // Other users may not be let into the folder it was built in.
        let program = scene.path("solocron");
        std::fs::copy(env!("CARGO_BIN_EXE_solocron"), &program).expect("space for the program");
        let run = ["run", "--log-format", "json", "--log-level", "debug", "--node", "n"];
        let replica = Program::start(&mut as_nobody(&scene, &run));
        let escaped = written(&scene, "escaped");
        Self { scene, replica, escaped }
    }

    /// Has the program end by itself.
    fn let_it_end(&self) {
        std::fs::write(self.scene.path("end"), "").expect("a writable folder");
    }
}

fn nobody() -> User {
    User::from_name("nobody").expect("accounts").expect("every system has it")
}

/// A command of the user whose replica it is: root does not touch another user's store.
fn as_nobody(scene: &Scene, words: &[&str]) -> Command {
    let user = nobody();
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={}", user.uid), format!("--regid={}", user.gid)]);
    command.arg("--clear-groups").arg(scene.path("solocron")).args(words);
    scene.equip(&mut command);
    command
}

impl Drop for Escape {
    fn drop(&mut self) {
        self.let_it_end();
    }
}

#[test]
fn what_cannot_be_killed_keeps_its_lock_until_it_ends() {
    let mut escape = Escape::start("timeout = \"500ms\"\n");
    let replica = &mut escape.replica;
    let warning = replica.wait_for("with a warning", |line| line.contains("cannot kill"));
    assert!(warning.contains("`./escape` starts processes that the replica cannot kill"), "{warning}");
    replica.wait_for_event("processes survived SIGKILL: the job stays locked until they end");
    replica.wait_for_event("lock renewed");
    assert!(is_alive(escape.escaped));
    escape.let_it_end();
    let ended = escape.replica.wait_for_event("run ended");
    assert_eq!((&ended["outcome"], &ended["level"]), (&"timed_out".into(), &"WARN".into()), "{ended}");
}

#[test]
fn what_cannot_be_killed_when_its_lock_is_lost_makes_the_end_of_its_run_unknown() {
    let mut escape = Escape::start("");
    // Nobody reaches a store that somebody else is writing to.
    let store =
        rusqlite::Connection::open(escape.scene.path("state/store.sqlite3")).expect("the embedded store");
    store.busy_timeout(crate::process::DEADLINE).expect("a number");
    store.execute_batch("BEGIN IMMEDIATE").expect("others are done before long");
    escape.replica.wait_for_event("lock lost: stopping the run");
    escape.replica.wait_for("of what outlives its lock", |line| {
        line.contains("processes survived SIGKILL and the lock is lost") && line.contains("ERROR")
    });
    store.execute_batch("ROLLBACK").expect("it was begun");
    // The living replica goes on renewing: nobody else has got the lock meanwhile.
    escape.replica.wait_for_event("lock renewed");
    assert!(is_alive(escape.escaped));
    escape.let_it_end();
    let ended = escape.replica.wait_for_event("run ended");
    assert_eq!((&ended["outcome"], &ended["reason"]), (&"unknown".into(), &"left_behind".into()), "{ended}");
    assert_eq!(ended["level"], "WARN", "{ended}");
    escape.replica.wait_for_event("run recorded");
    let history = as_nobody(&escape.scene, &["history", "j", "--format", "json"]).output().expect("it runs");
    let history = String::from_utf8_lossy(&history.stdout).into_owned();
    assert!(history.contains("\"left_behind\""), "{history}");
}

#[test]
fn without_new_privileges_the_same_program_is_killed_in_time() {
    let mut escape = Escape::start("timeout = \"500ms\"\nno_new_privileges = true\n");
    let ended = escape.replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "timed_out", "{ended}");
    assert!(!is_alive(escape.escaped), "the run is over when nothing of it is left");
}
