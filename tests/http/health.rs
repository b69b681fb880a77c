//! Probes: what they answer while the store is away, during a drain, and on its way out.

use nix::sys::signal::Signal;

use crate::http_client::get;
use crate::process::Scene;
use crate::redis_server::RedisServer;
use crate::{IDLE, eventually, start};

#[test]
fn a_replica_that_takes_ticks_is_healthy_and_ready_and_says_no_more() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let answer = get(address, "/healthz");
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"));
    let answer = eventually("ready", || Some(get(address, "/readyz")).filter(|answer| answer.status == 200));
    assert_eq!(answer.body, "ok\n");
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn a_replica_whose_store_hangs_is_healthy_and_not_ready_until_it_answers_again() {
    let redis = RedisServer::start();
    let scene = Scene::new(&IDLE.replace(
        "cluster.store = \"local\"",
        &format!("cluster = {{ name = \"t\", store = \"{}\" }}", redis.url()),
    ));
    let (_replica, address) = start(&scene, &[]);
    let ready = |status, body: &str| {
        eventually(body, || {
            Some(get(address, "/readyz"))
                .filter(|answer| answer.status == status && answer.body.contains(body))
        });
    };
    ready(200, "ok");
    redis.freeze();
    ready(503, "store");
    assert_eq!(get(address, "/healthz").status, 200);
    redis.thaw();
    ready(200, "ok");
}

#[test]
fn a_replica_that_drains_is_healthy_and_not_ready() {
    let jobs = IDLE.replace("0 0 29 2 *", "* * * * * *").replace("\"true\"", "\"exec sleep 600\"");
    let scene = Scene::new(&jobs);
    let (mut replica, address) = start(&scene, &["--drain", "10m"]);
    replica.wait_for_event("run started");
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("draining: taking no new ticks");
    let answer =
        eventually("not ready", || Some(get(address, "/readyz")).filter(|answer| answer.status == 503));
    assert_eq!(answer.body, "draining\n");
    assert_eq!(get(address, "/healthz").status, 200);
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}
