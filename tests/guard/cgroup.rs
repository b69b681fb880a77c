//! Where a control group is delegated to the replica, each run has its own in it, and is killed with it.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{User, geteuid};

use crate::process::{Program, Scene};
use crate::victims::{eventually, parent_of, written};

/// A job that multiplies until it is killed.
const BREEDER: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.breeder]
schedule = "* * * * * *"
timeout = "300ms"
kill_grace = "100ms"
shell = '''
trap '' TERM
cat /proc/self/cgroup > new.$$; mv new.$$ cgroup.$SOLOCRON_RUN
while :; do (setsid sleep 600 &); done
'''
"#;

/// A control group that belongs to a user without rights, as systemd delegates them. Removed with the value.
struct Delegated(PathBuf);

impl Delegated {
    /// Nothing where this is not root, or the machine has no unified hierarchy that can be written to.
    fn to(user: &User) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("linux");
        let mount = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let path = fields.next()?;
            (fields.next()? == "cgroup2").then_some(path)
        })?;
        let group = Self(Path::new(mount).join(format!("solocron-test-{}", std::process::id())));
        std::fs::create_dir(&group.0).ok().filter(|()| geteuid().is_root())?;
        for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            chown(group.0.join(file), Some(user.uid.as_raw()), Some(user.gid.as_raw())).ok()?;
        }
        Some(group)
    }

    /// The program in this group, as this user.
    fn run(&self, scene: &Scene, user: &User) -> Program {
        let line = "echo $$ > \"$GROUP/cgroup.procs\" && exec setpriv --reuid=$ID --regid=$GROUP_ID --clear-groups \"$@\"";
        // Other users may not be let into the folder it was built in.
        let program = scene.path("solocron");
        std::fs::copy(env!("CARGO_BIN_EXE_solocron"), &program).expect("space for the program");
        let mut command = Command::new("sh");
        command.args(["-c", line, "sh"]).arg(program);
        command.args(["run", "--log-format", "json", "--node", "n", "--drain", "1s"]);
        command.env("GROUP", &self.0).env("ID", user.uid.to_string()).env("GROUP_ID", user.gid.to_string());
        Program::start(scene.equip(&mut command))
    }

    /// The groups of runs in it.
    fn runs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).expect("it is there").flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("cgroup.procs").exists()).collect()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        // What a failed test left in it keeps it, and is seen there.
        for run in self.runs() {
            let _ = std::fs::remove_dir(run);
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A user without rights who may use the scene, and a group of theirs where the machine lets us make one.
fn delegate(scene: &Scene) -> (User, Option<Delegated>) {
    let user = User::from_name("nobody").expect("accounts").expect("every system has it");
    if geteuid().is_root() {
        chown(scene.path(""), Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("root may");
    }
    let delegated = Delegated::to(&user);
    (user, delegated)
}

#[test]
fn a_run_gets_its_own_delegated_cgroup_and_is_killed_however_fast_it_forks() {
    let scene = Scene::new(BREEDER);
    let (user, delegated) = delegate(&scene);
    let mut replica = match &delegated {
        Some(group) => group.run(&scene, &user),
        // Without one, the same is done process by process.
        None => scene.run(&["--drain", "1s"]),
    };
    // On a busy machine a run may be killed before it could write anything.
    let seen = (0..10).find_map(|_| {
        let ended = replica.wait_for_event("run ended");
        assert_eq!(ended["outcome"], "timed_out", "{ended}");
        let run = ended["run"].as_str().expect("a run");
        let seen = std::fs::read_to_string(scene.path(&format!("cgroup.{run}"))).ok()?;
        Some((run.to_owned(), seen))
    });
    replica.signal(Signal::SIGTERM);
    let Some(group) = delegated else { return };
    let (run, seen) = seen.expect("a run that wrote where it is");
    assert!(seen.contains(&format!("/run-{run}")), "{seen}");
    replica.wait().expect_code(0);
    eventually("the end of every run's group", || group.runs().is_empty().then_some(()));
}

/// A job that goes on.
const SLEEPER: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.sleeper]
schedule = "* * * * * *"
shell = "echo $$ > new; mv new main; exec sleep 600"
"#;

#[test]
fn a_killed_guard_leaves_no_control_group_behind() {
    let scene = Scene::new(SLEEPER);
    let (user, delegated) = delegate(&scene);
    let mut replica = match &delegated {
        Some(group) => group.run(&scene, &user),
        None => scene.run(&["--drain", "1s"]),
    };
    let guard = parent_of(written(&scene, "main"));
    let before = delegated.as_ref().map(Delegated::runs);
    kill(guard, Signal::SIGKILL).expect("it guards");
    assert_eq!(replica.wait_for_event("run ended")["reason"], "node_lost");
    if let Some((group, before)) = delegated.as_ref().zip(before) {
        assert_eq!(before.len(), 1, "one run, one group");
        eventually("the end of its group", || (!before[0].exists()).then_some(()));
        replica.signal(Signal::SIGTERM);
        replica.wait().expect_code(0);
        eventually("the end of every run's group", || group.runs().is_empty().then_some(()));
    }
}
