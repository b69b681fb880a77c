//! Killing a run.

use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::stage::{Place, Stage};

/// A lease so long that the holder does not renew by itself within the test; the job cleans up when it is told to stop.
const LONG: &str = "[jobs.long]\nschedule = \"* * * * * *\"\nlease = \"2m\"\nkill_grace = \"20s\"\n\
    shell = \"trap 'echo cleaned up; exit 0' TERM; while :; do sleep 0.1; done\"\n";

pub(crate) fn a_run_is_killed_in_order_wherever_it_is(place: Place) {
    let mut stage = Stage::start(place, LONG);
    let (holder, run) = stage.first_run();
    let run = run.as_str().expect("a run id").to_owned();
    let began = SystemClock.boot();
    let said = stage.give(&["kill", "long"]).expect_code(0).log;
    let took = SystemClock.boot().since(began);
    assert!(said.contains(&format!("run {run}: killed (operator)")), "{said}");
    assert!(
        took < Duration::from_secs(15),
        "the lease is renewed every 20 s, and the order came sooner: {took:?}"
    );
    stage.n(holder).wait_for_event_of("run ended", |event| event["reason"] == "operator");

    let history = stage.ask(&["history", "long"]);
    let is_it = |entry: &&serde_json::Value| entry["run"] == run.as_str();
    let entry = history.as_array().and_then(|all| all.iter().find(is_it)).expect("its entry");
    assert_eq!((&entry["outcome"], &entry["reason"]), (&"killed".into(), &"operator".into()));
    let cleaned = entry["tail"].as_str().is_some_and(|tail| tail.contains("cleaned up\n"));
    assert!(cleaned, "it was told before it was killed: {entry}");
    stage.give(&["pause", "long"]).expect_code(0);
    // The next tick may have run before the pause was there.
    stage.give(&["kill", "long"]);
    let nothing = stage.give(&["kill", "long"]).expect_code(1).log;
    assert!(nothing.contains("job `long` is not running"), "{nothing}");
    stage.stop();
}

/// Fails at once, and is tried again much later.
const FAILING: &str =
    "[jobs.failing]\nschedule = \"* * * * * *\"\nretries = 1\nretry_delay = \"10m\"\nshell = \"exit 1\"\n";

pub(crate) fn a_run_that_waits_for_its_next_attempt_is_killed_too(place: Place) {
    let mut stage = Stage::start(place, FAILING);
    let (holder, _) = stage.first_run();
    stage.n(holder).wait_for_event("attempt failed, trying again");
    let said = stage.give(&["kill", "failing"]).expect_code(0).log;
    assert!(said.contains("killed (operator)"), "{said}");
    stage.n(holder).wait_for_event_of("run ended", |event| event["outcome"] == "killed");
    stage.stop();
}

/// Ends only once the test has made a file.
fn lingering(file: &std::path::Path) -> String {
    format!(
        "[jobs.long]\nschedule = \"* * * * * *\"\nlease = \"2m\"\nkill_grace = \"20s\"\n\
         shell = \"trap 'while [ ! -e {} ]; do sleep 0.1; done; exit 0' TERM; while :; do sleep 0.1; done\"\n",
        file.display()
    )
}

#[test]
fn of_all_requests_to_stop_a_run_the_first_is_logged() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let mut stage = Stage::start(Place::local(), &lingering(&go));
    let (holder, _) = stage.first_run();
    let begin = |stage: &Stage| {
        let mut kill = stage.begin(&["kill", "long"]);
        kill.wait_for("of the order", |line| line.starts_with("stopping run "));
        kill
    };
    let first = begin(&stage);
    stage.n(holder).wait_for_event("operator stops the run");
    let others = [begin(&stage), begin(&stage)];
    // The record that holds the requests is read together with the pause, at the latest.
    stage.give(&["pause", "long"]).expect_code(0);
    stage.n(holder).wait_for_event("job paused: its ticks are skipped");
    std::fs::write(&go, "").expect("a writable folder");
    stage.n(holder).wait_for_event_of("run ended", |event| event["reason"] == "operator");
    let logged = stage.n(holder).lines().iter().filter(|line| line.contains("operator stops the run"));
    assert_eq!(logged.count(), 1);
    for kill in [first].into_iter().chain(others) {
        kill.wait().expect_code(0);
    }
    stage.stop();
}

#[test]
fn an_outage_while_a_run_ends_is_waited_out() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let mut stage = Stage::start(Place::redis(), &lingering(&go));
    stage.first_run();
    let mut kill = stage.begin(&["kill", "long"]);
    kill.wait_for("of the order", |line| line.starts_with("stopping run "));
    stage.outage(&mut kill);
    std::fs::write(&go, "").expect("a writable folder");
    let said = kill.wait().expect_code(0).log;
    assert!(said.contains("killed (operator)"), "{said}");
    stage.stop();
}
