//! What a replica says at its start, and when another server may have taken over.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{CAREFUL, JOBS, probe};

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
    let warning = replica.wait_for_event_of(UNSAFE, is_about("loses every record"));
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
    assert_eq!(log.matches("loses every record").count(), 1, "{log}");
}

#[test]
fn a_careful_server_is_passed_over_in_silence() {
    let server = RedisServer::start_with(&CAREFUL);
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    assert!(!log.contains(UNSAFE) && !log.contains(UNFIT), "{log}");
}

#[test]
fn an_unprotected_remote_server_with_an_unrestricted_default_user_is_reported() {
    let server = RedisServer::start_with(&CAREFUL);
    // Not known to be this machine by its address.
    let elsewhere = server.url().replace("127.0.0.1", "0x7f.1");
    let named = |store: &str| {
        let (report, code) = probe(store);
        assert_eq!(code, 0, "{report}");
        let text = report["probe"]["findings"].to_string();
        ["without a password", "may do more than solocron needs"].map(|words| text.contains(words))
    };
    assert_eq!(named(&elsewhere), [true, true]);
    assert_eq!(named(&server.url()), [false, false]);
    server.cli(&["ACL", "SETUSER", "ann", "on", ">s3cret", "~*", "&*", "+@all"]);
    assert_eq!(named(&elsewhere.replace("//", "//ann:s3cret@")), [false, false]);
}

#[test]
fn a_replica_that_is_pointed_at_a_redis_replica_says_so_in_words() {
    let server = RedisServer::start_with(&CAREFUL);
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let scene = Scene::new(JOBS);
    let mut replica = start(&scene, &server);
    let lost = replica.wait_for_event("store does not answer: no job starts until it does");
    let error = lost["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("the server is a Redis replica (read-only): name its primary"), "{lost}");
    let unfit = replica.wait_for_event_of(UNFIT, is_about("the server is a Redis replica"));
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
