//! Somebody who may publish on the cluster's channel, and nothing else, tells replicas what is not so.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use solocron::time::{Clock, SystemClock, UtcMillis};

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::stage::{Stage, start, stop};

const CHANNEL: &str = "solocron:{test}:hints:0";

/// More than eleven days.
const FOR_EVER: &str = "1000000000000";

/// A replica leaves a line about each tick of the job, whether it runs it or not.
fn wait_for_tick(replica: &mut Program) {
    replica.wait_for("about a tick", |line| {
        line.contains("run started") || line.contains("tick decided elsewhere")
    });
}

/// Tells everybody that a tick of the job is decided, or open again; how many have heard it.
fn tell(server: &RedisServer, name: &str, mark: UtcMillis) -> String {
    let info = server.cli(&["INFO", "replication"]);
    let era = info.lines().find_map(|line| line.trim_end().strip_prefix("master_replid:")).expect("its life");
    let (now, mark) = (SystemClock.utc().0, mark.0);
    let told = format!("{era}\npay\n{name}\n{now}\n{mark}\n{FOR_EVER}\n\n\n\n\nn9\nrunning\n");
    server.cli(&["PUBLISH", CHANNEL, &told])
}

fn entries(scene: &Scene, store: &str) -> Vec<Value> {
    let output =
        scene.command(&["--store", store, "history", "--format", "json"]).output().expect("a program");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn false_hints_of_an_endless_lease_keep_no_job_from_running_after_a_restart() {
    let mut server = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let jobs = "cluster = { name = \"test\", store = \"local\" }\n\
                jobs.pay = { schedule = \"*/2 * * * * *\", shell = \"true\", lease = \"5s\" }";
    let scene = Stage::new(jobs);
    let mut replica = start(&scene, &server.url(), &[]);
    replica.wait_for_event("run ended");
    // Whatever the replica is about at the moment: some of it is told while it listens.
    for ms in [0, 1, 2, 3, 4] {
        let mark = SystemClock.utc().plus(Duration::from_millis(ms));
        assert_eq!(tell(&server, "decided", mark), "1", "it listens");
        wait_for_tick(&mut replica);
    }
    server.stop();
    server.start_again();
    replica.wait_for_event("store changed");
    replica.wait_for_event("run started");
    let record = server.cli(&["HGET", "solocron:{test/pay}:state", "lease"]);
    assert_eq!(record, "5000", "{record}");
    stop(replica);
}

#[test]
fn a_job_runs_every_second_whatever_is_told_around_each_instant() {
    let server = RedisServer::start();
    let jobs = "cluster = { name = \"test\", store = \"local\" }\n\
                jobs.pay = { schedule = \"* * * * * *\", start_deadline = \"10s\", shell = \"true\" }";
    let scene = Stage::new(jobs);
    let mut replicas = ["n1", "n2", "n3"].map(|node| {
        let args =
            ["run", "--log-format", "json", "--log-level", "debug", "--store", &server.url(), "--node", node];
        Program::start(&mut scene.command(&args))
    });
    replicas.iter_mut().for_each(|replica| drop(replica.wait_for_event("tick decided elsewhere")));
    let (over, is_over) = mpsc::channel::<()>();
    let telling = &server;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_over.recv_timeout(Duration::from_millis(50)) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = SystemClock.utc();
                let instant = UtcMillis(now.0 / 1_000 * 1_000);
                tell(telling, "decided", now.plus(Duration::from_millis(195)));
                tell(telling, "abandoned", instant.minus(Duration::from_millis(1)));
            }
        });
        // Gone, also if one of them waits in vain.
        let _over = over;
        for _ in 0..10 {
            replicas.iter_mut().for_each(wait_for_tick);
        }
    });

    let all = entries(&scene, &server.url());
    replicas.into_iter().for_each(|replica| drop(stop(replica)));
    // On a busy machine a run may go on when the next tick comes.
    let is_lost = |one: &&Value| one["outcome"] == "missed" || one["outcome"] == "unknown";
    assert_eq!(all.iter().find(is_lost), None, "no tick is lost");
    assert!(all.iter().filter(|one| one["outcome"] == "succeeded").count() > 5, "{all:?}");
    assert!(all.len() > 10, "{all:?}");
    let ticks: Vec<i64> = all.iter().filter_map(|one| one["tick_ms"].as_i64()).collect();
    assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == 1_000), "and each once: {ticks:?}");
}
