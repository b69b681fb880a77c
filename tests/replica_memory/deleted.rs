//! A record that somebody deletes while its job runs: nothing else runs meanwhile.

use std::path::Path;

use crate::process::Program;
use crate::redis_server::RedisServer;
use crate::stage::{Stage, start, stop, wait_until};

const RECORD: &str = "solocron:{test/pay}:state";

/// A job that takes a while, and leaves a file where another run of it, or a guest, began meanwhile.
fn scene(schedule: &str) -> Stage {
    let shell = "test ! -e $AT/running || touch $AT/overlap; touch $AT/running; sleep 9; rm $AT/running";
    let jobs = format!(
        "cluster = {{ name = \"test\", store = \"local\" }}\n\
         jobs.pay = {{ schedule = \"{schedule}\", lease = \"1m\", shell = \"{shell}\", env = {{ AT = \"AT\" }} }}"
    );
    let scene = Stage::new(&jobs);
    let at = scene.path("state").parent().map(|at| at.display().to_string()).unwrap_or_default();
    std::fs::write(scene.path("jobs.toml"), jobs.replace("\"AT\"", &format!("\"{at}\""))).expect("our own");
    scene
}

fn wait_for_file(path: &Path) {
    wait_until("a file", || path.exists());
}

#[test]
fn a_guest_with_a_short_lease_waits_for_the_run_whose_record_was_deleted() {
    let server = RedisServer::start();
    let scene = scene("0 0 1 1 *");
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("store reached");
    let mut trigger = scene.command(&["--store", &server.url(), "trigger", "pay"]);
    assert!(trigger.status().expect("a program").success());
    wait_for_file(&scene.path("running"));

    assert_eq!(server.cli(&["DEL", RECORD]), "1");
    let running = scene.path("running").display().to_string();
    let store = ["--store", &server.url()];
    let exec = [
        "exec",
        "--cluster",
        "test",
        "--lock",
        "pay",
        "--lease",
        "5s",
        "--wait",
        "30s",
        "--",
        "test",
        "!",
        "-e",
        &running,
    ];
    let code = scene.command(&[&store, &exec[..]].concat()).status().expect("a program");

    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    assert_eq!(code.code(), Some(0), "it began when the run was over");
    stop(replica);
}

#[test]
fn neither_a_new_replica_nor_its_own_runs_a_job_whose_record_was_deleted_in_mid_run() {
    let server = RedisServer::start();
    let scene = scene("* * * * * *");
    let mut replica = start(&scene, &server.url(), &[]);
    wait_for_file(&scene.path("running"));

    server.cli(&["DEL", RECORD, "solocron:{test}:jobs"]);
    let args = ["run", "--log-format", "json", "--store", &server.url(), "--node", "new"];
    let mut other = Program::start(&mut scene.command(&args));
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    // Somebody runs the next one.
    wait_for_file(&scene.path("running"));
    other.wait_for_event("store reached");

    assert!(!scene.path("overlap").exists());
    [replica, other].into_iter().for_each(|replica| drop(stop(replica)));
}
