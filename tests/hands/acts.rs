//! The notes of what operators did.

use serde_json::Value;
use solocron::job::RunId;

use crate::stage::{Place, Stage};

/// Never due by itself within a test.
const BY_HAND: &str = "[jobs.hand]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n\
    [jobs.other]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";

/// Gives one command after the other, and returns the id of the run by hand.
fn act(stage: &Stage) -> String {
    stage.give(&["pause", "hand", "--reason", "month end"]).expect_code(0);
    stage.give(&["kill", "hand"]).expect_code(1);
    let said = stage.give(&["trigger", "hand"]).expect_code(0).log;
    stage.give(&["pause", "other"]).expect_code(0);
    stage.give(&["resume", "hand"]).expect_code(0);
    stage.give(&["unlock", "hand", "--force"]).expect_code(1);
    stage.give(&["unlock", "--mark", "hand"]).expect_code(0);
    let run = said.lines().find(|line| line.parse::<RunId>().is_ok());
    run.unwrap_or_else(|| panic!("no run id: {said}")).to_owned()
}

pub(crate) fn each_act_is_noted_with_who_did_it_and_what_came_of_it(place: Place) {
    let stage = Stage::start(place, BY_HAND);
    stage.wait_until_known("hand");
    stage.wait_until_known("other");
    let run = act(&stage);

    let acts = stage.ask(&["acts", "hand", "-n", "6"]);
    let acts: Vec<&Value> = acts.as_array().expect("a list").iter().collect();
    let told: Vec<(&str, &str)> = acts
        .iter()
        .map(|act| (act["act"].as_str().expect("a word"), act["result"].as_str().expect("words")))
        .collect();
    let [pause, kill, trigger, resume, unlock, mark] = told[..] else { panic!("{told:?}") };
    assert_eq!(pause, ("pause", "is paused until `solocron resume hand`"));
    assert_eq!(kill, ("kill", "refused: job `hand` is not running"));
    assert_eq!(trigger, ("trigger", format!("run {run}").as_str()));
    assert_eq!(resume, ("resume", "is no longer paused"));
    assert!(unlock.0 == "unlock" && unlock.1.starts_with("refused: "), "{unlock:?}");
    assert_eq!(mark, ("unlock_mark", "its mark does not lie in the future"));
    for act in &acts {
        assert!(act["by"].as_str().is_some_and(|by| by.contains('@')), "{act}");
        assert_eq!((&act["from"], &act["job"]), (&"command line".into(), &"hand".into()), "{act}");
    }
    let why: Vec<&Value> = acts.iter().map(|act| &act["why"]).filter(|why| !why.is_null()).collect();
    assert_eq!(why, ["month end"]);

    let said = stage.give(&["acts", "-n", "4"]).expect_code(0).log;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 5 && lines[1].contains("other") && lines[4].contains("unlock_mark"), "{said}");
    let without_file = stage.give_without_file(&["acts", "hand", "-n", "1"]).expect_code(0).log;
    assert!(without_file.contains("unlock_mark"), "{without_file}");
    stage.stop();
}

#[test]
fn an_act_whose_note_cannot_be_stored_is_done_with_a_warning() {
    let stage = Stage::start(Place::redis(), BY_HAND);
    stage.wait_until_known("hand");
    if let Place::Redis(server) = &stage.place {
        server.cli(&["DEL", "solocron:{test}:acts"]);
        server.cli(&["SET", "solocron:{test}:acts", "no feed"]);
    }
    let said = stage.give(&["pause", "hand"]).expect_code(0).log;
    assert!(said.contains("`hand` is paused"), "{said}");
    assert!(said.contains("warning: `solocron acts` will not show this: "), "{said}");
    assert!(!stage.ask(&["status"])["jobs"][0]["paused"].is_null());
    let said = stage.give(&["acts"]).expect_code(69).log;
    assert!(said.contains("solocron:{test}:acts"), "{said}");
    stage.stop();
}
