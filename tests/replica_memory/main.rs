//! What a replica remembers when it is killed, and when its store forgets or is full: real processes, a real
//! redis-server, and jobs that go on until somebody ends them.

#[path = "../support/c_program.rs"]
mod c_program;
mod copies;
#[path = "../support/copy.rs"]
mod copy;
mod deleted;
mod fences;
mod leases;
mod no_sign;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod rollback;
mod servers_clock;
mod set_back;
#[path = "../support/shim.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod shim;
mod stage;
mod told;

use std::time::Duration;

use process::{Program, make_fifo, say_to};
use redis_server::RedisServer;
use serde_json::Value;
use solocron::job::RunId;
use solocron::time::{Clock, SystemClock};
use stage::{LEFT, Stage, alive, history, journal, run_of, start, stop, verdict};

/// A job that goes on for longer than any test, with a descendant that left its group, on a lease of half a minute.
const LONG: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.long]
schedule = "*/2 * * * * *"
shell = "setsid sleep 100 & sleep 100"
"#;

/// From the start of a replica to the next run of a job that its former life was at: far below the lease.
const SOON: Duration = Duration::from_secs(20);

/// The run of a replica that was killed while it went on.
fn killed_in_mid_run(scene: &Stage, store: &str) -> RunId {
    let mut former = start(scene, store, &[]);
    let run = run_of(&former.wait_for_event("run started"));
    former.wait_for_event("lock renewed");
    former.kill();
    run
}

fn kill_in_mid_run_and_start_again(store: &str, jobs: &str) {
    let scene = Stage::new(jobs);
    let mut former = start(&scene, store, &[]);
    let run = run_of(&former.wait_for_event("run started"));
    former.wait_for("of a run that has begun", |line| line.contains("tick skipped"));
    assert!(!alive(run).is_empty());
    former.kill();

    let begun = SystemClock.boot();
    let mut replica = start(&scene, store, &[]);
    let ended = replica.wait_for_event("run ended");
    assert_eq!((run_of(&ended), verdict(&ended)), (run, ("interrupted", "node_lost")));
    assert_eq!(alive(run), [], "nothing of it is left before its end is told");
    let next = replica.wait_for_event("run started");

    let took = SystemClock.boot().since(begun);
    assert!(took < SOON, "{took:?}");
    assert_ne!(run_of(&next), run);
    let entries = history(&scene, store, run);
    assert!(matches!(&entries[..], [one] if verdict(one) == ("interrupted", "node_lost")), "{entries:?}");
    let lines = journal(&scene, run);
    assert!(matches!(&lines[..], [one] if verdict(one) == ("interrupted", "node_lost")), "{lines:?}");
    assert!(!scene.path(&format!("state/runs/long/{run}.running")).exists());
    stop(replica);
}

#[test]
fn a_replica_killed_in_mid_run_ends_the_run_at_its_restart_and_runs_the_next_tick() {
    kill_in_mid_run_and_start_again(&RedisServer::start().url(), LONG);
}

#[test]
fn it_waits_for_a_guard_that_still_grants_the_run_its_grace() {
    let deaf = "trap '' TERM; while :; do sleep 1; done";
    let jobs =
        LONG.replace("setsid sleep 100 & sleep 100", deaf).replace("shell", "kill_grace = \"1500ms\"\nshell");
    kill_in_mid_run_and_start_again(&RedisServer::start().url(), &jobs);
}

#[test]
fn so_it_does_with_the_embedded_store() {
    kill_in_mid_run_and_start_again("local", LONG);
}

#[test]
fn a_former_run_of_a_job_that_is_gone_from_the_file_is_ended_and_forgotten() {
    let server = RedisServer::start();
    let scene = Stage::new(LONG);
    let run = killed_in_mid_run(&scene, &server.url());
    let note = scene.path("state/leases/test/n/long.json");
    assert!(note.exists());
    std::fs::write(scene.path("jobs.toml"), LONG.replace("jobs.long", "jobs.other")).expect("our own file");

    let mut replica = start(&scene, &server.url(), &[]);
    assert_eq!(run_of(&replica.wait_for_event("run result recorded, late")), run);
    stop(replica);

    assert_eq!(alive(run), []);
    let entries = server.cli(&["XRANGE", "solocron:{test/long}:runs", "-", "+"]);
    assert!(entries.contains(&run.to_string()) && entries.contains("node_lost"), "{entries}");
    assert!(!note.exists(), "no run of it will ever come to replace it");
}

#[test]
fn a_run_of_another_machine_or_of_before_a_reboot_is_left_to_its_lease() {
    let server = RedisServer::start();
    let scene = Stage::new(LONG);
    let run = killed_in_mid_run(&scene, &server.url());
    let note = scene.path("state/leases/test/n/long.json");
    let text = std::fs::read_to_string(&note).expect("it was noted");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    assert!(text.contains(boot.trim()), "{text}");
    std::fs::write(&note, text.replace(boot.trim(), "another")).expect("our own file");

    let mut replica = start(&scene, &server.url(), &[]);
    let left = replica.wait_for_event(LEFT);

    assert_eq!(run_of(&left), run);
    assert_eq!(history(&scene, &server.url(), run)[0]["outcome"], "running");
    replica.wait_for("of a tick that waits", |line| line.contains("tick waits for the lock"));
}

#[test]
fn the_end_of_a_run_is_told_again_to_a_store_that_forgot_it() {
    let server = RedisServer::start();
    let scene = Stage::new(&LONG.replace("setsid sleep 100 & sleep 100", "echo done"));
    let mut replica = start(&scene, &server.url(), &[]);
    let run = run_of(&replica.wait_for_event("run recorded"));

    server.cli(&["FLUSHALL"]);

    let told = run_of(&replica.wait_for_event("run result recorded, late"));
    // One more run may have ended before the store forgot.
    assert!(told >= run);
    let entries = history(&scene, &server.url(), told);
    assert!(
        matches!(&entries[..], [one] if one["outcome"] == "succeeded" && one["tail"] == "done\n"),
        "{entries:?}"
    );
}

#[test]
fn so_it_is_by_a_replica_that_was_started_again_meanwhile() {
    let server = RedisServer::start();
    let scene = Stage::new(&LONG.replace("setsid sleep 100 & sleep 100", "echo done"));
    let mut former = start(&scene, &server.url(), &[]);
    let run = run_of(&former.wait_for_event("run recorded"));
    former.kill();
    server.cli(&["FLUSHALL"]);

    let mut replica = start(&scene, &server.url(), &[]);

    let told = replica.wait_for_event("run result recorded, late");
    // One more run may have ended before the kill.
    assert!(run_of(&told) >= run);
    assert_eq!(history(&scene, &server.url(), run_of(&told)).len(), 1);
}

/// What becomes of a run in mid-run when the store forgets everything.
fn forget_in_mid_run(switched_off: &str) -> String {
    let server = RedisServer::start();
    let scene = Stage::new(&LONG.replace("shell", "lease = \"12s\"\nshell"));
    let mut command = scene.command(&["run", "--log-format", "json", "--log-level", "debug", "--node", "n"]);
    command.args(["--store", &server.url()]).env("SOLOCRON_SWITCH_OFF", switched_off);
    let mut replica = Program::start(&mut command);
    let run = run_of(&replica.wait_for_event("run started"));
    replica.wait_for_event("lock renewed");
    server.cli(&["FLUSHALL"]);
    replica.wait_for_event("store changed");
    let mut fate = String::new();
    for _ in 0..3 {
        let said = |line: &str| line.contains("lock renewed") || line.contains("lock lost");
        let line = replica.wait_for("of what became of the run", said);
        let event: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(run_of(&event), run);
        fate = event["message"].as_str().unwrap_or_default().to_owned();
        if fate.starts_with("lock lost") {
            break;
        }
    }
    fate
}

#[test]
fn a_finish_is_never_sent_for_a_run_that_still_goes_on() {
    assert_eq!(forget_in_mid_run(""), "lock renewed");
}

#[cfg(feature = "test-switches")]
#[test]
fn without_that_protection_a_run_is_told_to_have_ended_while_it_goes_on() {
    assert!(forget_in_mid_run("resent-finish").starts_with("lock lost"));
}

/// One job that goes on until it reads a word, and one that has a tick every second.
const TWO: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.long]
schedule = "*/2 * * * * *"
lease = "12s"
shell = "read word < go"
[jobs.short]
schedule = "* * * * * *"
command = ["true"]
"#;

#[test]
fn out_of_memory_claims_fail_loudly_and_a_run_keeps_its_lock_and_records_its_end() {
    let server = RedisServer::start();
    let scene = Stage::new(TWO);
    make_fifo(&scene.path("go"));
    let mut replica = start(&scene, &server.url(), &[]);
    let of = |job: &'static str| move |event: &Value| event["job"] == job;
    let run = run_of(&replica.wait_for_event_of("run started", of("long")));
    replica.wait_for_event_of("run ended", of("short"));
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);

    let refused = replica.wait_for_event("tick delayed: the store refuses the request");
    assert_eq!((&refused["level"], &refused["job"]), (&"ERROR".into(), &"short".into()));
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("maxmemory")), "{refused}");
    // Longer than its lease is.
    for _ in 0..8 {
        assert_eq!(run_of(&replica.wait_for_event("lock renewed")), run);
    }
    say_to(&scene.path("go"), "end\n");
    let ended = replica.wait_for_event("run ended");
    assert_eq!((run_of(&ended), &ended["outcome"]), (run, &"succeeded".into()));
    assert_eq!(run_of(&replica.wait_for_event("run recorded")), run);
    assert_eq!(history(&scene, &server.url(), run)[0]["outcome"], "succeeded");

    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    replica.wait_for_event_of("run ended", of("short"));
    let log = stop(replica);
    let is_full = |line: &str| line.contains("store does not answer: no job") && line.contains("maxmemory");
    assert!(!log.lines().any(is_full), "the heart beats on:\n{log}");
}
