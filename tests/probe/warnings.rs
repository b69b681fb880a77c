//! What a replica says at its start, and when another server may have taken over.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{CAREFUL, JOBS};

const UNSAFE: &str = "store is set up unsafely";
const UNFIT: &str = "store settings keep jobs from running";

fn start(scene: &Scene, server: &RedisServer) -> Program {
    let mut command = scene.command(&["run", "--log-format", "json", "--node", "n", "--log-level", "debug"]);
    Program::start(command.env("STORE", server.url()))
}

fn is_about<'a>(words: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |event| {
        ["what", "value"].iter().any(|name| event[name].as_str().is_some_and(|text| text.contains(words)))
    }
}

#[test]
fn a_replica_says_once_what_is_unsafe_and_says_more_when_another_server_takes_over() {
    let server = RedisServer::start();
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    let warning = replica.wait_for_event_of(UNSAFE, is_about("forgets everything"));
    assert_eq!((warning["level"].as_str(), warning["node"].as_str()), (Some("WARN"), Some("n")));
    assert!(warning["help"].as_str().is_some_and(|help| help.contains("appendonly")), "{warning}");
    replica.wait_for_event("run ended");
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "100mb"]);
    // A primary that was a replica for a moment lives another life.
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    replica.wait_for_event_of(UNSAFE, is_about("allkeys-lru"));
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    assert_eq!(log.matches("forgets everything").count(), 1, "{log}");
}

#[test]
fn a_careful_server_is_passed_over_in_silence() {
    let server = RedisServer::start_with(&CAREFUL);
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    assert!(!log.contains("set up"), "{log}");
}

#[test]
fn a_replica_that_is_pointed_at_a_redis_replica_says_so_in_words() {
    let server = RedisServer::start_with(&CAREFUL);
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    let lost = replica.wait_for_event("store does not answer: no job starts until it does");
    let error = lost["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("the server is a replica, and takes no claims: name its primary"), "{lost}");
    let unfit = replica.wait_for_event_of(UNFIT, is_about("the server is a replica"));
    assert_eq!(unfit["level"], "ERROR");
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    replica.wait_for_event("run ended");
}

#[test]
fn a_right_that_is_missing_is_said_at_the_start_and_not_when_it_is_needed() {
    let server = RedisServer::start_with(&CAREFUL);
    server.cli(&["ACL", "SETUSER", "default", "-xadd"]);
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    let unfit = replica.wait_for_event_of(UNFIT, is_about("missing +xadd"));
    assert_eq!(unfit["help"], "grant it: `ACL SETUSER default +xadd`");
}
