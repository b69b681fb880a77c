//! Runs by hand.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::stage::{Place, Stage, shown};

/// Never due by itself within a test.
const BY_HAND: &str = "[jobs.hand]\nschedule = \"0 0 29 2 *\"\n\
    shell = \"echo $SOLOCRON_CAUSE $SOLOCRON_TICK; exit 3\"\n";

const BUSY: &str = "[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"sleep 600\"\n";

pub(crate) fn a_triggered_job_runs_once_and_is_followed_to_its_end(place: Place) {
    let stage = Stage::start(place, BY_HAND);
    stage.wait_until_known("hand");
    let followed = ["trigger", "hand", "--follow", "--tick", "2024-02-29 00:00"];
    let said = stage.give(&followed).expect_code(3).log;
    assert!(said.contains("manual 2024-02-29T00:00:00.000Z"), "{said}");

    let no_tick = ["trigger", "hand", "--tick", "2024-02-29T00:00:03Z"];
    let said = stage.give(&no_tick).expect_code(2).log;
    let around = "has no tick at Thu 2024-02-29 00:00:03 +00:00; it has one at Thu 2024-02-29 00:00:00 +00:00, the next";
    let help = "help: write `2024-02-29T00:00:00.000+00:00`, or no tick";
    assert!(said.contains(around) && said.contains(help), "{said}");
    let said = stage.give(&["trigger", "hand", "--tick", "00:01Z"]).expect_code(2).log;
    assert!(said.contains("`hand` has no tick at ") && said.contains("00:01:00 +00:00"), "{said}");

    stage.give(&["pause", "hand"]).expect_code(0);
    let said = stage.give(&["trigger", "hand"]).expect_code(0).log;
    let (waits, run): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("waiting "));
    assert!(waits.len() <= 1, "{said}");
    assert!(
        matches!(run[..], [run] if run.parse::<solocron::job::RunId>().is_ok()),
        "its id and nothing else: {said}"
    );
    stage.stop_after_runs("hand", 2);
}

pub(crate) fn a_trigger_during_a_run_is_skipped_and_says_so(place: Place) {
    let mut stage = Stage::start(place, BUSY);
    stage.first_run();
    let said = stage.give(&["trigger", "busy", "--follow"]).expect_code(75).log;
    assert!(said.contains("skipped (overlap)"), "{said}");
    stage.give(&["pause", "busy"]).expect_code(0);
    stage.give(&["kill", "busy"]);
    stage.stop();
}

/// Jobs that no replica of the stage can run.
const OUT_OF_REACH: &str = "[jobs.gpu]\nschedule = \"0 0 29 2 *\"\ncommand = [\"true\"]\nonly_on = [\"gpu\"]\n\
    [jobs.off]\nschedule = \"0 0 29 2 *\"\ncommand = [\"true\"]\nenabled = false\n";

/// An order that nobody takes is cancelled after a minute: what is known at once takes much less.
const AT_ONCE: Duration = Duration::from_secs(30);

pub(crate) fn a_run_that_nobody_can_take_is_refused_at_once(place: Place) {
    let mut stage = Stage::start(place, OUT_OF_REACH);
    stage.wait_until_known("gpu");
    let began = SystemClock.boot();
    let refused = |stage: &Stage, job: &str, why: &str| {
        let said = stage.give(&["trigger", job]).expect_code(1).log;
        assert!(said.contains(why), "{said}");
    };
    refused(
        &stage,
        "gpu",
        "error: no live replica has the label `gpu`: nothing ran\n  help: start one with `solocron run --label gpu`",
    );
    refused(&stage, "off", "error: job `off` is disabled (enabled = false)");
    for number in [1, 2] {
        stage.n(number).signal(Signal::SIGKILL);
    }
    refused(&stage, "gpu", "nothing ran\n  help: start one with");
    let took = SystemClock.boot().since(began);
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn a_run_that_waits_for_another_is_cancelled_at_its_start_deadline_and_names_it() {
    let job = "[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"sleep 600\"\noverlap = \"wait\"\nstart_deadline = \"6s\"\n";
    let mut stage = Stage::start(Place::local(), job);
    let (_, run) = stage.first_run();
    let began = SystemClock.boot();
    let said = stage.give(&["trigger", "busy"]).expect_code(1).log;
    let took = SystemClock.boot().since(began);
    assert!(took >= Duration::from_secs(6) && took < AT_ONCE, "{took:?}");
    let id = shown(run.as_str().expect("a run id"));
    assert!(said.contains(&format!("waiting: run {id} on n")) && said.contains(", until 20"), "{said}");
    assert!(said.contains("error: not started within 6s; cancelled, nothing ran: run "), "{said}");
    stage.give(&["pause", "busy"]).expect_code(0);
    stage.give(&["kill", "busy"]);
    stage.stop();
}

#[test]
fn a_trigger_that_is_interrupted_takes_its_order_back() {
    let job = "[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"sleep 600\"\noverlap = \"wait\"\n";
    let mut stage = Stage::start(Place::local(), job);
    stage.first_run();
    let mut trigger = stage.begin(&["trigger", "busy"]);
    trigger.wait_for("for what it waits", |line| line.starts_with("waiting: run "));
    trigger.signal(Signal::SIGINT);
    let said = trigger.wait().expect_code(130).log;
    assert!(said.contains("cancelled: nothing ran"), "{said}");
    stage.give(&["pause", "busy"]).expect_code(0);
    stage.give(&["kill", "busy"]);
    stage.stop();
}

#[test]
fn an_outage_while_a_run_is_followed_is_waited_out() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let go = folder.path().join("go");
    let waits = format!("while [ ! -e {} ]; do sleep 0.1; done; exit 3", go.display());
    let job = format!("[jobs.hand]\nschedule = \"0 0 29 2 *\"\nshell = \"{waits}\"\n");
    let stage = Stage::start(Place::redis(), &job);
    stage.wait_until_known("hand");
    let mut followed = stage.begin(&["trigger", "hand", "--follow"]);
    followed.wait_for("with the run's id", |line| line.parse::<solocron::job::RunId>().is_ok());
    stage.outage(&mut followed);
    std::fs::write(&go, "").expect("a writable folder");
    let said = followed.wait().expect_code(3).log;
    assert!(said.contains("failed on n"), "{said}");
    stage.stop();
}
