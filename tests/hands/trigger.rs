//! Runs by hand.

use crate::stage::{Place, Stage};

/// Never due by itself within a test.
const BY_HAND: &str = "[jobs.hand]\nschedule = \"0 0 29 2 *\"\n\
    shell = \"echo $SOLOCRON_CAUSE $SOLOCRON_TICK; exit 3\"\n";

const BUSY: &str = "[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"sleep 600\"\n";

pub(crate) fn a_triggered_job_runs_once_and_is_followed_to_its_end(place: Place) {
    let mut stage = Stage::start(place, BY_HAND);
    stage.n(1).wait_for_event("store reached");
    stage.n(2).wait_for_event("store reached");
    let followed = ["trigger", "hand", "--follow", "--tick", "2026-01-02T03:04:05Z"];
    let mut said = stage.give(&followed);
    if said.log.contains("no replica has told the store of job") {
        // The replicas had not opened it yet.
        said = stage.give(&followed);
    }
    let said = said.expect_code(3).log;
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
