//! Removing a lock.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{BootInstant, Clock, SystemClock};

use crate::stage::{Place, Stage};

const LONG: &str = "[jobs.long]\nschedule = \"* * * * * *\"\nlease = \"90s\"\nstart_deadline = \"1h\"\nshell = \"sleep 600\"\n";

/// Who waits for a lock asks for it so often: a part of the lease.
const ASKS_EVERY: Duration = Duration::from_secs(15);

/// Some come right after the start; by the second after these the holder has missed a renewal and more.
const QUESTIONS: usize = 6;

pub(crate) fn the_lock_of_a_replica_that_is_gone_is_removed_and_of_a_living_one_not(place: Place) {
    let mut stage = Stage::start(place, LONG);
    let (holder, run) = stage.first_run();
    let run = run.as_str().expect("a run id").to_owned();
    let refused = stage.give(&["unlock", "long", "--force"]).expect_code(1).log;
    // Whatever it was that gave a sign of life: the holder's heartbeat, the next one, or its renewal.
    assert!(refused.contains("is not released") && refused.contains("solocron kill long"), "{refused}");

    stage.n(holder).signal(Signal::SIGKILL);
    let (asked, said) = removed(&mut stage, 3 - holder);
    assert!(said.contains(&run), "{said}");
    stage.n(3 - holder).wait_for_event("run started");
    let waited = SystemClock.boot().since(asked);
    assert!(waited < ASKS_EVERY, "it was not told that the lock is free, and asked again after {waited:?}");

    let history = stage.ask(&["history", "long"]);
    let is_it = |entry: &&serde_json::Value| entry["run"] == run.as_str();
    let entry = history.as_array().and_then(|all| all.iter().find(is_it)).expect("its entry");
    assert_eq!((&entry["outcome"], &entry["reason"]), (&"interrupted".into(), &"node_lost".into()));
    stage.give(&["pause", "long"]).expect_code(0);
    stage.give(&["kill", "long"]).expect_code(0);
}

/// Removes the lock once its holder has sent no heartbeat for long enough, which is looked at whenever the other replica has just
/// asked for it: when that was, and what was said of the removal.
fn removed(stage: &mut Stage, waiting: usize) -> (BootInstant, String) {
    let mut refusals = Vec::new();
    for _ in 0..QUESTIONS {
        stage.n(waiting).wait_for_event("tick waits for the lock");
        let asked = SystemClock.boot();
        let unasked = stage.give(&["unlock", "long"]).expect_code(1).log;
        let said = stage.give(&["unlock", "long", "--force"]);
        if said.status.success() {
            assert!(
                unasked.contains("release the lock? [y/N]") || unasked.contains("heartbeat just now"),
                "{unasked}"
            );
            return (asked, said.log);
        }
        assert!(said.log.contains("is not released"), "{}", said.log);
        refusals.push(said.log);
    }
    panic!("the lock was never removed:\n{}", refusals.concat());
}

pub(crate) fn a_wait_for_a_holder_that_the_store_forgot_is_ended(place: Place) {
    let stage =
        Stage::start(place, "[jobs.rare]\nschedule = \"0 0 1 1 *\"\nlease = \"5s\"\nshell = \"true\"\n");
    stage.wait_until_known("rare");
    if let Place::Redis(server) = &stage.place {
        // As after a restart, where a replica remembers a lease that was mistyped.
        let state = ["HSET", "solocron:{test/rare}:state", "until", "9999999999999", "lease", "600000"];
        server.cli(&state);
        let said = stage.give(&["status", "--check"]).expect_code(1).log;
        assert!(
            said.contains("`rare` waits until 2286-11-20 17:46:39 UTC") && said.contains("10m"),
            "{said}"
        );
        let said = stage.give(&["unlock", "rare"]).expect_code(1).log;
        assert!(said.contains("has no known holder") && said.contains("end the wait? [y/N]"), "{said}");
        let said = stage.give(&["unlock", "rare", "--force"]).expect_code(0).log;
        assert!(said.contains("its lock is free"), "{said}");
        assert_eq!(server.cli(&["HGET", "solocron:{test/rare}:state", "until"]), "0");
    }
    // A job that is new waits for two seconds, which is as long as the command takes.
    let said = stage.give(&["unlock", "rare", "--force"]).expect_code(1).log;
    assert!(said.contains("nobody holds the lock of job `rare`"), "{said}");
    stage.stop();
}
