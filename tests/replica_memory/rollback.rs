//! A store that goes back to an older state in the same life: what replicas that live know of it protects who has just come.

use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::copy::COPY;
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::stage::{Stage, stop, wait_until};

const NODES: &str = "solocron:{test}:nodes";

fn start(scene: &Scene, store: &str, node: &str) -> Program {
    let args = ["run", "--log-format", "json", "--log-level", "debug", "--store", store, "--node", node];
    Program::start(&mut scene.command(&args))
}

/// Another heartbeat of each of these comes, and one more after it.
pub(crate) fn wait_for_heartbeats(server: &RedisServer, nodes: &[&str]) {
    for node in nodes {
        for _ in 0..2 {
            let before = server.cli(&["HGET", NODES, node]);
            wait_until("a heartbeat", || server.cli(&["HGET", NODES, node]) != before);
        }
    }
}

#[test]
fn a_replica_that_starts_after_a_rollback_runs_no_tick_that_others_remember() {
    let server = RedisServer::start();
    let jobs = "cluster = { name = \"test\", store = \"local\" }\n\
                jobs.pay = { schedule = \"*/15 * * * * *\", lease = \"5s\", \
                shell = \"echo $SOLOCRON_TICK_MS >> $AT\", env = { AT = \"FILE\" } }";
    let scene = Stage::new(jobs);
    let ran = scene.path("ran");
    std::fs::write(scene.path("jobs.toml"), jobs.replace("FILE", &ran.display().to_string()))
        .expect("our own");
    let mut replicas = ["n1", "n2"].map(|node| start(&scene, &server.url(), node));
    let of_a_tick = |line: &str| line.contains("run ended") || line.contains("tick decided elsewhere");
    replicas.iter_mut().for_each(|replica| drop(replica.wait_for("of a tick", of_a_tick)));
    // A copy, a tick, and the copy in place of what came after it.
    assert_eq!(server.cli(&["EVAL", COPY, "0"]), "0");
    replicas.iter_mut().for_each(|replica| drop(replica.wait_for("of a tick", of_a_tick)));
    let ticked = SystemClock.boot();
    assert_eq!(server.cli(&["SWAPDB", "0", "1"]), "OK");
    wait_for_heartbeats(&server, &["n1", "n2"]);

    let mut fresh = start(&scene, &server.url(), "n3");
    fresh.wait_for_event("store reached");
    assert!(SystemClock.boot().since(ticked) < Duration::from_secs(14), "the tick may still start");
    for replica in replicas.iter_mut().chain([&mut fresh]) {
        replica.wait_for("of a tick", of_a_tick);
    }

    let ran = std::fs::read_to_string(&ran).expect("it ran");
    let mut ticks: Vec<&str> = ran.lines().collect();
    ticks.sort_unstable();
    let all = ticks.len();
    ticks.dedup();
    assert!(all >= 2 && ticks.len() == all, "a tick ran twice: {ran}");
    replicas.into_iter().chain([fresh]).for_each(|replica| drop(stop(replica)));
}
