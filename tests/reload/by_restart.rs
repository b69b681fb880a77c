//! A file that is loaded by a restart: what is edited in it starts then, as if it had been loaded before.

use nix::sys::signal::Signal;

use super::process::{Program, Scene};
use super::{file, said_at, says, tick};

/// Comes every ten seconds, and catches up with what it missed.
const CATCHES_UP: &str =
    "schedule = \"*/10 * * * * *\"\nstart_deadline = \"1s\"\ncatch_up = \"last\"\nshell = \"true\"";

/// Starts a replica with this job, and another that comes every second.
fn start(scene: &Scene, keys: &str) -> Program {
    super::write(scene, &file(&[("flipped", keys), ("clock", &says("tick"))]));
    scene.run(&["--log-level", "debug"])
}

fn stop(replica: Program) {
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_job_that_is_enabled_again_by_a_restart_catches_up_with_nothing() {
    let scene = Scene::new("");
    let of_flipped = |event: &serde_json::Value| event["job"] == "flipped";

    let mut replica = start(&scene, CATCHES_UP);
    let before = tick(&replica.wait_for_event_of("run recorded", of_flipped));
    stop(replica);

    let mut replica = start(&scene, &format!("{CATCHES_UP}\nenabled = false"));
    let missed = before + jiff::SignedDuration::from_secs(11);
    replica.wait_for_event_of("run recorded", |event| event["job"] == "clock" && tick(event) > missed);
    stop(replica);

    let mut replica = start(&scene, CATCHES_UP);
    let started = said_at(&replica.wait_for_event("replica started"));
    let first = replica.wait_for_event_of("run ended", of_flipped);
    assert!(tick(&first) >= started, "{first}");
    stop(replica);
}

#[test]
fn ticks_missed_while_a_replica_is_down_are_caught_up_if_nothing_is_edited() {
    let scene = Scene::new("");
    let mut replica = start(&scene, CATCHES_UP);
    let before = tick(&replica.wait_for_event_of("run recorded", |event| event["job"] == "flipped"));
    stop(replica);

    let elsewhere = Scene::new("");
    let mut clock = start(&elsewhere, "schedule = \"@yearly\"\nshell = \"true\"");
    let missed = before + jiff::SignedDuration::from_secs(11);
    clock.wait_for_event_of("run recorded", |event| event["job"] == "clock" && tick(event) > missed);
    stop(clock);

    let mut replica = start(&scene, CATCHES_UP);
    let first = replica.wait_for_event_of("run ended", |event| event["job"] == "flipped");
    assert_eq!(first["cause"], "catch_up", "{first}");
    stop(replica);
}
