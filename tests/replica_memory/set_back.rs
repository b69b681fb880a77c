//! A mark that an operator sets back: the replicas that run learn of it.

use crate::redis_server::RedisServer;
use crate::stage::{Stage, start, stop};

#[test]
fn jobs_run_again_once_an_operator_has_set_their_marks_back() {
    let server = RedisServer::start();
    let scene = Stage::new(
        "cluster = { name = \"test\", store = \"local\" }\n\
         jobs.pay = { schedule = \"* * * * * *\", command = [\"true\"] }",
    );
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("run ended");
    // As a clock that was ahead leaves it, of which no leap is known.
    server.cli(&["HSET", "solocron:{test/pay}:state", "mark", "4000000000000"]);
    replica.wait_for_event("tick decided elsewhere");

    let mut unlock = scene.command(&["--store", &server.url(), "unlock", "--mark", "pay", "--force"]);
    assert!(unlock.status().expect("a program").success());
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    stop(replica);
}

#[test]
fn a_mark_that_lies_ahead_is_a_warning_of_who_opens_its_record() {
    let server = RedisServer::start();
    let scene = Stage::new(
        "cluster = { name = \"test\", store = \"local\" }\n\
         jobs.pay = { schedule = \"* * * * * *\", command = [\"true\"] }",
    );
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("run ended");
    stop(replica);
    server.cli(&["HSET", "solocron:{test/pay}:state", "mark", "4000000000000"]);

    let mut replica = start(&scene, &server.url(), &[]);
    let warned = replica.wait_for_event(
        "a clock was ahead: ticks up to the mark were decided before their time and do not run again; \
         `solocron unlock --mark` lets them run",
    );
    assert_eq!(
        (&warned["level"], &warned["job"], &warned["jobs"]),
        (&"WARN".into(), &"pay".into(), &1.into()),
        "{warned}"
    );
    stop(replica);
}
