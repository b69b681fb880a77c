//! A longer lease than the file's, which somebody had: how long a store that forgets, or starts again, makes others wait.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::rollback::wait_for_heartbeats;
use crate::stage::{Stage, alive, run_of, stop, wait_until};

fn jobs(lease: &str, schedule: &str, shell: &str) -> String {
    let job = format!("schedule = \"{schedule}\", lease = \"{lease}\", shell = \"{shell}\"");
    format!("cluster = {{ name = \"test\", store = \"local\" }}\njobs.pay = {{ {job} }}")
}

fn start(scene: &Scene, store: &str, node: &str) -> Program {
    let args = ["run", "--log-format", "json", "--log-level", "debug", "--store", store, "--node", node];
    Program::start(&mut scene.command(&args))
}

/// A replica leaves a line about each tick of the job, whether it runs it or not.
fn wait_for_tick(replica: &mut Program) {
    let said = ["run started", "tick decided elsewhere", "tick skipped", "tick waits for the lock"];
    replica.wait_for("about a tick", |line| said.iter().any(|said| line.contains(said)));
}

/// Ticks come and go for so long.
fn wait_for_ticks(replica: &mut Program, during: Duration) {
    let over = SystemClock.boot().plus(during);
    while SystemClock.boot() < over {
        wait_for_tick(replica);
    }
}

#[test]
fn a_lease_that_was_long_for_a_while_delays_no_job_after_a_restart_of_the_store() {
    let mut server = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let scene = Stage::new(&jobs("1m", "* * * * * *", "true"));
    let mut replicas = ["n1", "n2"].map(|node| start(&scene, &server.url(), node));
    replicas.iter_mut().for_each(wait_for_tick);
    std::fs::write(scene.path("jobs.toml"), jobs("5s", "* * * * * *", "true")).expect("our own file");
    for replica in &mut replicas {
        replica.signal(Signal::SIGHUP);
        replica.wait_for_event("jobs file loaded again");
    }
    // A little more than it takes to make sure that nobody has the former file any more.
    wait_for_ticks(&mut replicas[0], Duration::from_secs(8));

    server.stop();
    server.start_again();
    let begun = SystemClock.boot();
    for replica in &mut replicas {
        replica.wait_for_event("store changed");
        replica.wait_for("of a tick that runs", |line| {
            let has = |text: &str| line.contains(text);
            has("run started") || has("tick decided elsewhere") && has("\"outcome\":\"running\"")
        });
    }

    let took = SystemClock.boot().since(begun);
    assert!(took < Duration::from_secs(25), "{took:?}");
    let record = server.cli(&["HGET", "solocron:{test/pay}:state", "lease"]);
    assert_eq!(record, "5000", "{record}");
    replicas.into_iter().for_each(|replica| drop(stop(replica)));
}

#[test]
fn an_emptied_store_grants_no_lock_before_a_cut_off_run_with_a_long_lease_ends() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "old", "on", ">secret", "~*", "&*", "+@all"]);
    let theirs = Stage::new(&jobs("30s", "*/2 * * * * *", "sleep 100"));
    let store = server.url().replace("redis://", "redis://old:secret@");
    let mut holder = start(&theirs, &store, "n1");
    let run = run_of(&holder.wait_for_event("run started"));
    let ours = Stage::new(&jobs("5s", "*/2 * * * * *", "true"));
    let mut other = start(&ours, &server.url(), "n2");
    wait_for_tick(&mut other);

    server.cli(&["ACL", "SETUSER", "old", "off"]);
    server.cli(&["CLIENT", "KILL", "USER", "old"]);
    // After that the short file has been the only one that is heard of for long enough.
    wait_for_ticks(&mut other, Duration::from_secs(11));
    server.cli(&["FLUSHALL"]);
    holder.wait_for_event("lock lost: stopping the run");
    while !alive(run).is_empty() {
        std::thread::yield_now();
    }

    let said = stop(other);
    assert!(!said.contains("run started"), "{said}");
    stop(holder);
}

/// A guest that holds the job's lock with a lease of 30 s, and whose command prints its process id.
fn exec_with_a_long_lease(scene: &Scene, store: &str) -> Program {
    let exec =
        ["--store", store, "exec", "--cluster", "test", "--lock", "pay", "--lease", "30s", "--wait", "30s"];
    let exec = [&exec[..], &["--", "sh", "-c", "echo $$; exec sleep 100"]].concat();
    Program::start(&mut scene.command(&exec))
}

#[test]
fn an_emptied_store_grants_no_lock_before_a_cut_off_exec_with_a_long_lease_ends() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "guest", "on", ">secret", "~*", "&*", "+@all"]);
    let scene = Stage::new(&jobs("5s", "0 0 1 1 *", "true"));
    let mut replica = start(&scene, &server.url(), "n1");
    replica.wait_for_event("store reached");
    let store = server.url().replace("redis://", "redis://guest:secret@");
    let mut guest = exec_with_a_long_lease(&scene, &store);
    let pid = guest.wait_for("the command's id", |line| line.parse::<u32>().is_ok());
    // No tick comes, and no replica asks for the lock: they hear of it with a heartbeat.
    wait_for_heartbeats(&server, &["n1"]);

    server.cli(&["ACL", "SETUSER", "guest", "off"]);
    server.cli(&["CLIENT", "KILL", "USER", "guest"]);
    server.cli(&["FLUSHALL"]);
    // Its order is lost as long as the job has no record.
    let trigger = ["--store", &server.url(), "trigger", "pay"];
    wait_until("a record", || scene.command(&trigger).status().expect("a program").success());
    replica.wait_for_event("run started");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the command still runs");
    drop(guest);
    stop(replica);
}
