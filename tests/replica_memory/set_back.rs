//! A mark that an operator sets back: the replicas that run learn of it.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::process::Program;
use crate::redis_server::RedisServer;
use crate::stage::{Stage, start, stop, wait_until};

const JOBS: &str = "cluster = { name = \"test\", store = \"local\" }\n\
                    jobs.pay = { schedule = \"* * * * * *\", command = [\"true\"] }";

/// As a clock that was ahead leaves the record, of which no leap is known.
fn put_the_mark_ahead(server: &RedisServer) {
    server.cli(&["HSET", "solocron:{test/pay}:state", "mark", "4000000000000"]);
}

/// A replica whose job stands still for a mark that lies ahead.
fn stalled() -> (RedisServer, Stage, Program) {
    let server = RedisServer::start();
    let scene = Stage::new(JOBS);
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("run ended");
    put_the_mark_ahead(&server);
    replica.wait_for_event("tick decided elsewhere");
    (server, scene, replica)
}

/// An operator sets all marks back.
fn set_back(server: &RedisServer, scene: &Stage) {
    let mut unlock = scene.command(&["--store", &server.url(), "unlock", "--mark", "--all", "--force"]);
    assert!(unlock.status().expect("a program").success());
}

#[test]
fn jobs_run_again_once_an_operator_has_set_their_marks_back() {
    let (server, scene, mut replica) = stalled();
    let status = scene.command(&["--store", &server.url(), "status", "--check"]).output().expect("a program");
    let said = String::from_utf8_lossy(&status.stdout);
    assert_eq!(status.status.code(), Some(1), "{said}");
    assert!(said.contains("unlock --mark"), "{said}");

    set_back(&server, &scene);
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    stop(replica);
}

#[test]
fn a_replica_that_was_away_while_an_operator_set_a_mark_back_runs_its_jobs_again() {
    let (server, scene, mut replica) = stalled();
    replica.signal(Signal::SIGSTOP);

    set_back(&server, &scene);
    // After a minute no notice tells of it any more.
    server.cli(&["DEL", "solocron:{test}:notices"]);
    // Longer than a heartbeat may be missing.
    let long_enough = SystemClock.boot().plus(Duration::from_secs(6));
    wait_until("the replica to be away for long", || SystemClock.boot() > long_enough);
    replica.signal(Signal::SIGCONT);
    replica.wait_for_event("run ended");
    stop(replica);
}

#[test]
fn a_mark_that_lies_ahead_is_a_warning_of_who_opens_its_record() {
    let server = RedisServer::start();
    let scene = Stage::new(JOBS);
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("run ended");
    stop(replica);
    put_the_mark_ahead(&server);

    let mut replica = start(&scene, &server.url(), &[]);
    let warned = replica.wait_for_event(
        "a clock was ahead: ticks up to the mark count as done and do not run again; \
         `solocron unlock --mark` lets them run",
    );
    assert_eq!(
        (&warned["level"], &warned["job"], &warned["jobs"]),
        (&"WARN".into(), &"pay".into(), &1.into()),
        "{warned}"
    );
    stop(replica);
}
