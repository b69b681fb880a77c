//! Pausing and resuming.

use crate::stage::{Place, Stage};

const EVERY_SECOND: &str = "[jobs.tidy]\nschedule = \"* * * * * *\"\nlease = \"5s\"\nshell = \"true\"\n";

pub(crate) fn a_paused_job_skips_its_ticks_until_it_is_resumed(place: Place) {
    let mut stage = Stage::start(place, EVERY_SECOND);
    // At once or from n2: either has run one by then, and both know the store.
    stage.n(1).wait_for_event("run recorded");
    stage.n(2).wait_for_event("run recorded");

    let said = stage.give(&["pause", "tidy", "--reason", "month end"]).expect_code(0).log;
    assert!(said.contains("`tidy` is paused until `solocron resume tidy`"), "{said}");
    for number in [1, 2] {
        let heard = stage.n(number).wait_for_event("job paused: its ticks are skipped");
        assert_eq!(heard["why"], "month end", "{heard}");
        stage.n(number).wait_for_event_of("tick skipped", |event| event["reason"] == "paused");
    }
    let status = stage.ask(&["status"]);
    let paused = &status["jobs"][0]["paused"];
    assert_eq!(paused["reason"], "month end", "{status}");
    assert!(paused["by"].as_str().is_some_and(|by| by.contains('@')), "{status}");

    if let Place::Redis(server) = &stage.place {
        server.cli(&["FLUSHALL"]);
        stage.n(1).wait_for_event("store changed");
        stage.n(1).wait_for_event_of("tick skipped", |event| event["reason"] == "paused");
    }

    stage.give(&["resume", "tidy"]).expect_code(0);
    for number in [1, 2] {
        stage.n(number).wait_for_event("job resumed");
        stage.n(number).wait_for_event("run recorded");
    }
    let again = stage.give(&["resume", "tidy"]).expect_code(0).log;
    assert!(again.contains("was not paused"), "{again}");

    let said = stage.give(&["pause", "tidy", "--for", "2h"]).expect_code(0).log;
    assert!(said.contains("(for 1h 59m)") || said.contains("(for 2h)"), "{said}");
    stage.stop();
}

pub(crate) fn a_job_that_is_not_in_the_file_is_refused_with_the_near_one(place: Place) {
    let mut stage = Stage::start(place, EVERY_SECOND);
    stage.n(1).wait_for_event("store reached");
    for command in ["pause", "resume"] {
        let said = stage.give(&[command, "--all", "--cluster", "tset"]).expect_code(2).log;
        assert!(said.contains("cluster `tset` has no jobs in "), "{said}");
    }
    for command in ["pause", "resume", "kill", "trigger", "unlock"] {
        let said = stage.give(&[command, "tiddy"]).expect_code(2).log;
        assert!(said.contains("did you mean `tidy`?"), "{said}");
    }
    stage.stop();
}
