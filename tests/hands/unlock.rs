//! Removing a lock.

use nix::sys::signal::Signal;

use crate::stage::{Place, Stage};

const LONG: &str = "[jobs.long]\nschedule = \"* * * * * *\"\nlease = \"60s\"\nstart_deadline = \"1h\"\nshell = \"sleep 600\"\n";

pub(crate) fn the_lock_of_a_replica_that_is_gone_is_removed_and_of_a_living_one_not(place: Place) {
    let mut stage = Stage::start(place, LONG);
    let (holder, run) = stage.first_run();
    let run = run.as_str().expect("a run id").to_owned();
    let refused = stage.give(&["unlock", "long", "--force"]).expect_code(1).log;
    // Whatever it was that gave a sign of life: the holder's heartbeat, the next one, or its renewal.
    assert!(refused.contains("is not removed") && refused.contains("solocron kill long"), "{refused}");

    stage.n(holder).signal(Signal::SIGKILL);
    // It is silent once it has missed its heartbeats and a renewal; the other asks for the lock now and then.
    let said = loop {
        stage.n(3 - holder).wait_for_event("tick waits for the lock");
        let unasked = stage.give(&["unlock", "long"]).expect_code(1).log;
        let said = stage.give(&["unlock", "long", "--force"]);
        if said.status.success() {
            assert!(unasked.contains("remove the lock? [y/N]") || unasked.contains("is heard"), "{unasked}");
            break said.log;
        }
        assert!(said.log.contains("is not removed"), "{}", said.log);
    };
    assert!(said.contains(&run), "{said}");
    stage.n(3 - holder).wait_for_event("run started");
    let history = stage.ask(&["history", "long"]);
    let is_it = |entry: &&serde_json::Value| entry["run"] == run.as_str();
    let entry = history.as_array().and_then(|all| all.iter().find(is_it)).expect("its entry");
    assert_eq!((&entry["outcome"], &entry["reason"]), (&"interrupted".into(), &"node_lost".into()));
    stage.give(&["pause", "long"]).expect_code(0);
    stage.give(&["kill", "long"]).expect_code(0);
}
