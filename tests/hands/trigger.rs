//! Runs by hand.

use crate::stage::{Place, Stage};

/// Never due by itself within a test.
const BY_HAND: &str = "[jobs.hand]\nschedule = \"0 0 29 2 *\"\n\
    shell = \"echo $SOLOCRON_CAUSE $SOLOCRON_TICK; exit 3\"\n";

const BUSY: &str = "[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"sleep 600\"\n";

pub(crate) fn a_triggered_job_runs_once_and_is_followed_to_its_end(place: Place) {
    let stage = Stage::start(place, BY_HAND);
    stage.wait_until_known("hand");
    let followed = ["trigger", "hand", "--follow", "--tick", "2026-01-02T03:04:05Z"];
    let said = stage.give(&followed).expect_code(3).log;
    assert!(said.contains("manual 2026-01-02T03:04:05.000Z"), "{said}");

    stage.give(&["pause", "hand"]).expect_code(0);
    let run = stage.give(&["trigger", "hand"]).expect_code(0).log;
    assert!(run.trim().parse::<solocron::job::RunId>().is_ok(), "its id and nothing else: {run}");
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
