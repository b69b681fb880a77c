//! What takes longer than a second is told on stderr: what is waited for, and until when.

use crate::stage::{Place, Stage};

#[test]
fn a_store_that_does_not_answer_is_waited_for_in_words() {
    let stage =
        Stage::start(Place::redis(), "[jobs.rare]\nschedule = \"0 0 29 2 *\"\ncommand = [\"true\"]\n");
    stage.wait_until_known("rare");
    let Place::Redis(server) = &stage.place else { panic!("it is a server") };
    server.freeze();
    for command in
        [&["status"][..], &["history"], &["kill", "rare"], &["trigger", "rare"], &["unlock", "rare"]]
    {
        let said = stage.give(command).expect_code(69).log;
        assert!(said.starts_with("waiting for the store to answer, 12s at most\n"), "{command:?}: {said}");
    }
    server.thaw();
    stage.stop();
}

#[test]
fn a_run_that_takes_its_time_to_end_is_waited_for_in_words() {
    let job = "[jobs.deaf]\nschedule = \"* * * * * *\"\nkill_grace = \"3s\"\n\
               shell = \"trap '' TERM; while :; do sleep 0.1; done\"\n";
    let mut stage = Stage::start(Place::local(), job);
    stage.first_run();
    stage.give(&["pause", "deaf"]).expect_code(0);
    let said = stage.give(&["kill", "deaf"]).expect_code(0).log;
    let told = ": SIGKILL 3s after SIGTERM (kill_grace), 18s at most";
    let is_told =
        |line: &str| line.starts_with("waiting for the end of the run on n") && line.ends_with(told);
    assert!(said.lines().any(is_told), "{said}");
    stage.stop();
}
