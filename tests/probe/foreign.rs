//! What others write to the store's keys, and stores that are none for this: what replicas make of it, and what people
//! are told.

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Program, Scene};
use crate::redis_server::RedisServer;
use crate::said::{said, wrong};
use crate::{complaints, probe};

const JOBS: &str = r#"
cluster = { name = "lab", store = "local" }
[jobs.a]
schedule = "* * * * * *"
lease = "5s"
command = ["true"]
[jobs.b]
schedule = "* * * * * *"
lease = "5s"
command = ["true"]
"#;

const FOREIGN: &str = "store contains foreign data: it is ignored, and removed if it cannot be read";

/// A replica whose jobs run.
fn running(scene: &Scene, server: &RedisServer) -> Program {
    let mut replica = scene.run(&["--store", &server.url(), "--log-level", "debug"]);
    replica.wait_for_event("run recorded");
    replica
}

fn wait_for_run(replica: &mut Program, job: &str) -> String {
    let ended = replica.wait_for_event_of("run ended", |event| event["job"] == job);
    ended["run"].as_str().expect("a run").to_owned()
}

fn stop(mut replica: Program) -> String {
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("replica stopped");
    replica.wait().expect_code(0).log
}

fn has(text: &Value, words: &[&str]) -> bool {
    words.iter().all(|word| text.as_str().is_some_and(|text| text.contains(word)))
}

#[test]
fn fields_and_keys_that_no_replica_wrote_stop_nothing_and_are_named() {
    let (server, scene) = (RedisServer::start(), Scene::new(JOBS));
    let mut replica = running(&scene, &server);
    for key in ["solocron:{lab}:notices", "solocron:{lab}:nodes"] {
        server.cli(&["HSET", key, "zz", "abc"]);
    }
    let warning = replica.wait_for_event(FOREIGN);
    assert_eq!(warning["level"], "WARN");
    assert!(has(&warning["what"], &[" field zz"]), "{warning}");
    wait_for_run(&mut replica, "a");
    wait_for_run(&mut replica, "b");
    // Whatever took the place of the heartbeats has taken their memory.
    server.cli(&["SET", "solocron:{lab}:nodes", "abc"]);
    replica.wait_for_event("store changed");
    server.cli(&["SET", "solocron:{lab}:notices", "abc"]);
    server.cli(&["SET", "solocron:{lab}:jobs", "abc"]);
    wait_for_run(&mut replica, "a");
    let log = stop(replica);
    assert!(!log.contains("store does not answer"), "{log}");

    // `jobs` is read at a start.
    let replica = running(&scene, &server);
    stop(replica);
    assert_eq!(server.cli(&["TYPE", "solocron:{lab}:jobs"]), "set");
}

#[test]
fn a_history_of_another_type_stops_its_own_job_alone_and_loses_no_entry() {
    let (server, scene) = (RedisServer::start(), Scene::new(JOBS));
    let mut replica = running(&scene, &server);
    let key = "solocron:{lab/a}:runs";
    wait_for_run(&mut replica, "a");
    server.cli(&["SET", key, "abc"]);

    let delayed = replica.wait_for_event("run result not recorded yet, trying again");
    assert_eq!(delayed["job"], "a");
    assert!(has(&delayed["error"], &[key, "DEL or RENAME it"]), "{delayed}");
    let status = wrong(&scene, &server.url(), "`a` cannot be read");
    assert!(status.contains("1 problem") && status.contains("`a` cannot be read"), "{status}");
    assert!(status.contains(key) && status.contains("DEL or RENAME it"), "{status}");
    let (history, code) = said(&scene, &server.url(), &["history", "-n", "3"]);
    assert!(history.contains(" b ") && history.contains(key) && code == 1, "{history}");
    for _ in 0..2 {
        wait_for_run(&mut replica, "b");
    }

    server.cli(&["DEL", key]);
    let run = delayed["run"].as_str().expect("a run");
    replica.wait_for_event_of("run recorded", |event| event["run"] == run);
    let next = wait_for_run(&mut replica, "a");
    assert_ne!(next, run, "nothing ran meanwhile");
    stop(replica);
    let entries = server.cli(&["XRANGE", key, "-", "+"]);
    assert!(entries.contains(run) && entries.contains(&next), "{entries}");
}

#[test]
fn a_record_of_another_type_stops_its_own_job_alone() {
    let (server, scene) = (RedisServer::start(), Scene::new(JOBS));
    let mut replica = running(&scene, &server);
    let key = "solocron:{lab/a}:state";
    server.cli(&["SET", key, "abc"]);

    let refused = |event: &Value| event["job"] == "a" && has(&event["error"], &[key, "DEL or RENAME it"]);
    replica.wait_for("of a refusal", |line| {
        serde_json::from_str(line).is_ok_and(|event: Value| refused(&event))
    });
    let status = wrong(&scene, &server.url(), "`a` cannot be read");
    assert!(status.contains("`a` cannot be read") && status.contains(key), "{status}");
    wait_for_run(&mut replica, "b");
    server.cli(&["DEL", key]);
    wait_for_run(&mut replica, "a");
    stop(replica);
}

#[test]
fn bytes_that_are_no_text_in_a_record_stop_its_own_job_alone() {
    let (server, scene) = (RedisServer::start(), Scene::new(JOBS));
    let mut replica = running(&scene, &server);
    let key = "solocron:{lab/a}:state";
    server.cli(&["EVAL", "return redis.call('HSET', KEYS[1], 'lease', '\\255')", "1", key]);

    let refused = replica.wait_for_event("tick delayed: the store refuses the request");
    assert!(refused["job"] == "a" && has(&refused["error"], &[key, "`lease`", "`?`"]), "{refused}");
    wrong(&scene, &server.url(), "`a` cannot be read");
    for _ in 0..2 {
        wait_for_run(&mut replica, "b");
    }
    let log = stop(replica);
    assert!(!log.contains("store does not answer") && !log.contains("connection dropped"), "{log}");
}

#[test]
fn status_says_why_no_replica_could_open_any_record() {
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let slots: Vec<String> = (0..16_384).map(|slot| slot.to_string()).collect();
    let words: Vec<&str> =
        ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str)).collect();
    assert_eq!(server.cli(&words), "OK");
    let begun = SystemClock.boot();
    while !server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
        assert!(SystemClock.boot().since(begun) < DEADLINE, "it is no cluster");
    }
    let scene = Scene::new(JOBS);
    let mut replica = scene.run(&["--store", &server.url()]);
    let refused = replica.wait_for_event("job cannot run: its record in the store cannot be opened");
    assert!(
        has(&refused["error"], &["Redis Cluster, which is not supported yet: use one server", "CROSSSLOT"]),
        "{refused}"
    );

    let status = wrong(&scene, &server.url(), "`a` does not run: it has no record in the store");

    for words in
        ["3 problems", "Redis Cluster, which is not supported yet", "`a` does not run: it has no record"]
    {
        assert!(status.contains(words), "{words}: {status}");
    }
    stop(replica);
}

#[test]
fn a_server_that_would_hide_a_restart_is_refused_wherever_it_is_asked() {
    // INFO is renamed; it is answered by something else.
    let renamed: &[&str] = &["--rename-command", "INFO", ""];
    let other: &[&str] = &["--rename-command", "INFO", "", "--rename-command", "PING", "INFO"];
    for args in [renamed, other] {
        let (server, scene) = (RedisServer::start_with(args), Scene::new(JOBS));
        let mut replica = scene.run(&["--store", &server.url()]);
        let lost = replica.wait_for_event("store does not answer: no job starts until it does");
        assert!(has(&lost["error"], &["replication id", "restart"]), "{lost}");
        replica.wait_for_event_of("store settings keep jobs from running", |event| {
            has(&event["what"], &["a restart or failover would go unnoticed"])
        });
        let (status, code) = said(&scene, &server.url(), &["status"]);
        assert!(
            status.contains("replication id") && status.contains("check --probe") && code == 69,
            "{status}"
        );
        let (report, code) = probe(&server.url());
        let found = complaints(&report).join("\n");
        assert!(found.starts_with("error ") && found.contains("no job runs") && code == 1, "{found}");
        let log = stop(replica);
        assert_eq!(log.matches("store does not answer: no job starts").count(), 1, "{log}");
    }
}
