//! The end of a drain: runs that do not finish in time are stopped in order, and their locks are renewed until nothing is
//! left of them; only then may another replica start. How a drain begins, and a second signal: tests/run_command.rs; that
//! others take the ticks meanwhile: tests/cluster/rolling.rs.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use jiff::{SignedDuration, Timestamp};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process::{Program, Scene};
use redis_server::RedisServer;
use serde_json::Value;

/// A job that hears SIGTERM and goes on, for longer than its lease.
const STUBBORN: &str = r#"
[cluster]
name = "test"
store = "STORE"
[jobs.stubborn]
schedule = "* * * * * *"
overlap = "wait"
start_deadline = "1h"
lease = "10s"
kill_grace = "12s"
shell = "trap 'echo heard it' TERM; echo my pid is $$; while :; do sleep 0.1; done"
"#;

const GRACE: SignedDuration = SignedDuration::from_secs(12);

fn replica(scene: &Scene, node: &str) -> Program {
    let args = ["run", "--log-format", "json", "--log-level", "debug", "--job-output", "stdout"];
    Program::start(scene.command(&args).args(["--node", node, "--drain", "500ms"]))
}

fn time_of(event: &Value) -> Timestamp {
    event["timestamp"].as_str().and_then(|at| at.parse().ok()).expect("every line has its time")
}

#[test]
fn a_run_that_ignores_the_end_of_the_drain_keeps_its_lock_until_it_is_dead() {
    let redis = RedisServer::start();
    let scene = Scene::new(&STUBBORN.replace("STORE", &redis.url()));
    let mut first = replica(&scene, "a");
    let line = first.wait_for("of the job", |line| line.contains("my pid is "));
    let digits = line.split("my pid is ").nth(1).expect("it was waited for");
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    let pid = Pid::from_raw(digits.parse().expect("a process id"));
    let mut second = replica(&scene, "b");
    second.wait_for_event("tick waits for the lock");

    first.signal(Signal::SIGTERM);
    let stopping = time_of(&first.wait_for_event("stopping the runs that are left"));
    first.wait_for("of the job's trap", |line| line.contains("heard it"));
    let mut renewed = 0;
    let ended = loop {
        let event = first.wait_for("of the run's lock or end", |line| {
            line.contains("\"lock renewed\"") || line.contains("\"run ended\"")
        });
        let event: Value = serde_json::from_str(&event).expect("a JSON line");
        if event["message"] == "run ended" {
            break event;
        }
        renewed += 1;
    };
    assert_eq!(
        (&ended["outcome"], &ended["reason"], &ended["signal"]),
        (&"interrupted".into(), &"shutdown".into(), &9.into())
    );
    let lasted = time_of(&ended).duration_since(stopping);
    assert!(lasted >= GRACE, "{lasted}");
    assert!(renewed >= 3, "a lease of 10 s is over within these 12 s, and was renewed {renewed} times");
    assert_eq!(kill(pid, None), Err(Errno::ESRCH));
    let started = second.wait_for_event("run started");
    assert!(time_of(&started) >= time_of(&ended), "{started} {ended}");
    first.wait().expect_code(0);
    second.signal(Signal::SIGTERM);
    second.signal(Signal::SIGTERM);
    second.wait().expect_code(0);
}

#[test]
fn a_replica_is_drained_by_a_command_that_waits_for_its_end_and_the_others_stay() {
    let redis = RedisServer::start();
    let jobs = "[cluster]\nname = \"test\"\nstore = \"STORE\"\n[jobs.slow]\nschedule = \"* * * * * *\"\nshell = \"sleep 2\"\n";
    let scene = Scene::new(&jobs.replace("STORE", &redis.url()));
    let run = |node: &str| {
        let args = ["run", "--log-format", "json", "--drain", "20s", "--node", node];
        Program::start(&mut scene.command(&args))
    };
    let mut first = run("a");
    first.wait_for_event("run started");
    let mut second = run("b");
    second.wait_for_event("replica started");

    let drain = |args: &[&str]| Program::start(&mut scene.command(&[&["drain"], args].concat())).wait();
    let unknown = drain(&["c"]).expect_code(2).log;
    assert!(unknown.contains("no replica `c` runs here\n  help: those that do: a, b"), "{unknown}");
    let said = drain(&["a"]).expect_code(0).log;
    assert!(said.contains("draining a: ") && said.trim_end().ends_with("a: ended"), "{said}");
    let log = first.wait().expect_code(0).log;
    let ended: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |message: &str| ended.iter().filter(|event| event["message"] == message).collect::<Vec<_>>();
    assert!(of("run ended").iter().all(|run| run["outcome"] == "succeeded"), "{log}");
    assert_eq!((of("draining: taking no new ticks").len(), of("replica stopped").len()), (1, 1), "{log}");
    second.wait_for_event("run ended");

    drain(&[]).expect_code(0);
    second.wait().expect_code(0);
    let nobody = drain(&[]).expect_code(1).log;
    assert!(nobody.starts_with("error: no replica is running here"), "{nobody}");
}
