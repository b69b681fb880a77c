//! Where the promise ends: a replica and the guard of its run are frozen for longer than the lease while the job itself
//! goes on. Another replica rightly takes over; what saves the day is the fenced table.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{DEADLINE, Program, Scene, make_fifo};
use crate::redis_server::RedisServer;
use crate::{STATE, read, scene, sqlite};

/// What the kernel calls a guard.
const GUARD: &str = "lease-guard";

/// Says who it is, waits to be told, pays, and says how that ended.
const JOBS: &str = r#"
[cluster]
name = "test"
store = "${STORE}"
[jobs.pay]
schedule = "* * * * * *"
lease = "10s"
shell = '''
echo "begun $SOLOCRON_NODE $SOLOCRON_FENCE $$" > said
read word < "go.$SOLOCRON_NODE"
sh pay-sqlite.sh 2> "errors.$SOLOCRON_NODE" && code=0 || code=$?
echo "ended $SOLOCRON_NODE $SOLOCRON_FENCE $code" > said
'''
"#;

/// What the jobs say of themselves, line by line.
struct Witness {
    lines: Receiver<String>,
}

impl Witness {
    fn of(scene: &Scene) -> Self {
        let fifo = both_ways(&scene.path("said"));
        let (heard, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(fifo).lines().map_while(Result::ok) {
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line of this kind from this replica's job: its token, and the number after it.
    fn wait_for(&self, what: &str, node: &str) -> (i64, i32) {
        loop {
            let line = self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("{node} has not {what}"));
            let words: Vec<&str> = line.split(' ').collect();
            if words[..2] == [what, node] {
                return (words[2].parse().expect("a token"), words[3].parse().expect("a number"));
            }
        }
    }
}

/// A FIFO that is open for both, so that neither side waits for the other to open it.
fn both_ways(path: &Path) -> File {
    make_fifo(path);
    OpenOptions::new().read(true).write(true).open(path).expect("it was just made")
}

/// A process that is stopped until this is dropped.
struct Frozen(Pid);

impl Frozen {
    fn freeze(pid: Pid) -> Self {
        kill(pid, Signal::SIGSTOP).expect("it runs");
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // An error says that it is gone.
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// The guard of a job's process.
fn guard_of(job: i32) -> Pid {
    let status = read(format!("/proc/{job}/status"));
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent").trim();
    assert!(read(format!("/proc/{parent}/comm")).starts_with(GUARD), "the job's parent is its guard");
    Pid::from_raw(parent.parse().expect("an id"))
}

fn start(scene: &Scene, node: &str, store: &str) -> Program {
    let state = scene.path(&format!("state.{node}"));
    let mut command = scene.command(&["run", "--log-format", "json", "--node", node]);
    Program::start(command.env("STORE", store).env("SOLOCRON_STATE_DIR", state))
}

#[test]
fn the_fenced_table_rejects_a_run_whose_replica_and_guard_were_frozen_too_long() {
    let redis = RedisServer::start();
    let scene = scene(JOBS);
    sqlite(&scene, &read(scene.path("accounts.sql")));
    let witness = Witness::of(&scene);
    let mut go = ["a", "b"].map(|node| both_ways(&scene.path(&format!("go.{node}"))));
    let mut go_on = |node: usize| go[node].write_all(b"on\n").expect("the FIFO is open");

    let a = start(&scene, "a", &redis.url());
    let (stale, job) = witness.wait_for("begun", "a");
    let _b = start(&scene, "b", &redis.url());
    let frozen = [a.pid(), guard_of(job)].map(Frozen::freeze);

    let (newer, _) = witness.wait_for("begun", "b");
    assert!(newer > stale, "{newer} is not above {stale}");
    assert!(Path::new(&format!("/proc/{job}")).exists(), "the old job goes on beside the new one");
    go_on(1);
    assert_eq!(witness.wait_for("ended", "b"), (newer, 0));
    go_on(0);

    assert_eq!(witness.wait_for("ended", "a"), (stale, 1), "the stale writer fails loudly");
    let said = read(scene.path("errors.a"));
    assert_eq!(said, format!("not paid: a run with a newer token than {stale} has written already\n"));
    assert_eq!(sqlite(&scene, STATE), format!("100 {newer}"));
    drop(frozen);
}
