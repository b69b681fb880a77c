//! Replicas that have loaded different files say so, and `status` shows who has which.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::process::{Program, Scene};
use super::{LOADED, file, said_at, says, write};

const DIFFERENT: &str = "replicas have different jobs files: copy the right one to all of them";

#[test]
fn files_that_differ_for_a_minute_are_logged_and_shown_until_they_agree() {
    let scene = Scene::new(&file(&[("beat", &says("one"))]));
    std::fs::write(scene.path("other.toml"), file(&[("beat", &says("two"))])).expect("a writable folder");
    let mut one = scene.run(&[]);
    let began = said_at(&one.wait_for_event("replica started"));
    let mut other = scene.command(&["run", "--log-format", "json", "--node", "m", "--config", "other.toml"]);
    let mut other = Program::start(&mut other);
    other.wait_for_event("replica started");

    let said = wait_a_minute_for(&mut one, DIFFERENT);
    assert!(said_at(&said).duration_since(began).as_secs() >= 60, "{said}");
    let (mine, others) = (text(&said, "file"), text(&said, "others"));
    let said = other.wait_for_event(DIFFERENT);
    assert_eq!(others, format!("m ({})", text(&said, "file")));
    assert_eq!(text(&said, "others"), format!("n ({mine})"));

    let status = Program::start(&mut scene.command(&["status"])).wait().expect_code(0).log;
    let theirs = text(&said, "file");
    let shown = [format!("m ({})", &theirs[..8]), format!("n ({})", &mine[..8])];
    for shown in ["live replicas loaded different files", &shown[0], &shown[1]] {
        assert!(status.contains(shown), "{shown} is not in:\n{status}");
    }
    write(&scene, &file(&[("beat", &says("two"))]));
    one.wait_for_event(LOADED);
    one.wait_for_event("replicas have the same jobs file again");
    for replica in [one, other] {
        replica.signal(Signal::SIGTERM);
        replica.wait().expect_code(0);
    }
}

/// Waits for the event, which is due in a minute: twice as long as for others.
fn wait_a_minute_for(replica: &mut Program, message: &str) -> Value {
    let half = replica.wait_for_event("run ended");
    let is_it = |event: &Value| event["message"] == message;
    let due = said_at(&half) + jiff::SignedDuration::from_secs(40);
    let line = replica.wait_for("of forty seconds later", |line| {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        is_it(&event) || event["timestamp"].is_string() && said_at(&event) > due
    });
    let event: Value = serde_json::from_str(&line).expect("JSON");
    if is_it(&event) { event } else { replica.wait_for_event(message) }
}

fn text(event: &Value, field: &str) -> String {
    event[field].as_str().unwrap_or_else(|| panic!("{field} of {event}")).to_owned()
}
