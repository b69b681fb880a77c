//! Three machines of which each reaches only the store: network namespaces, each with one wire to that of the store. What a job
//! prints on one of them is read from another one, by the command and over HTTP.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::http_client::request;
use crate::machine::{Machine, store_of_machines, within_namespaces};
use crate::process::{DEADLINE, Scene};
use crate::stage::texts;

/// A token.
const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";

/// Prints a line, waits for the file `go`, and prints another one.
const SCRIPT: &str = "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 3";

#[test]
fn output_is_read_from_machines_that_reach_only_the_store() {
    within_namespaces(
        "namespaces::output_is_read_from_machines_that_reach_only_the_store",
        read_from_other_machines,
    );
}

/// In the process within the namespaces.
fn read_from_other_machines() {
    let redis = store_of_machines();
    let scene = Scene::new("");
    std::fs::write(scene.path("token"), TOKEN).expect("a writable folder");
    std::fs::set_permissions(scene.path("token"), Permissions::from_mode(0o400)).expect("its owner may");
    scene.edit(&format!(
        "[cluster]\nname = \"test\"\nstore = \"local\"\n[jobs.talk]\nschedule = \"0 0 29 2 *\"\nonly_on = [\"talks\"]\n\
         shell = \"{SCRIPT}\"\n[http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"read\" }}\n",
        scene.path("token").display()
    ));
    let machines = [1, 2, 3].map(|number| Machine::new(number, &scene, &redis));
    let [one, two, three] = &machines;
    for other in ["10.77.2.2", "10.77.3.1", "10.77.3.2"] {
        let route = one.command("ip").args(["route", "get", other]).output().expect("ip");
        assert!(!route.status.success(), "{other} is out of reach");
    }
    let _first = one.replica(&["--listen", "10.77.1.2:7070"]);
    let mut second = two.replica(&["--no-http", "--label", "talks"]);
    let _third = three.replica(&["--no-http"]);
    // Its first heartbeat, by which others know its label, is in the store.
    second.wait_for_event("store reached");
    until("known", || three.solocron(&["resume", "talk"]).wait().status.success().then_some(()));
    three.solocron(&["trigger", "talk"]).wait().expect_code(0);
    let started = second.wait_for_event("run started");
    let run = started["run"].as_str().expect("an id");

    let mut followed = three.solocron(&["logs", "talk", "--follow"]);
    followed.wait_for("of its output", |line| line.ends_with(" out one"));
    let piece = |query: &str| -> Value {
        let address = "10.77.1.2:7070".parse().expect("an address");
        let line = format!("GET /api/v1/runs/{run}/log?job=talk{query}");
        let answer = request(address, &line, &[("Authorization", &format!("Bearer {TOKEN}"))]);
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).expect("JSON")
    };
    let of = |piece: &Value| -> Vec<String> {
        texts(piece["text"].as_str().expect("a text")).into_iter().map(str::to_owned).collect()
    };
    let first = until("output", || Some(piece("&wait=5")).filter(|piece| !of(piece).is_empty()));
    assert_eq!((of(&first), &first["node"]), (vec!["one".to_owned()], &"n2".into()), "{first}");
    std::fs::write(scene.path("go"), "").expect("a writable folder");
    let said = followed.wait().expect_code(0).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    let rest = until("the rest", || {
        Some(piece(&format!("&from={}&wait=5", first["next"]))).filter(|piece| !of(piece).is_empty())
    });
    assert_eq!(of(&rest), ["two"], "{rest}");
    let end = until("the end", || {
        Some(piece(&format!("&from={}&wait=5", rest["next"]))).filter(|piece| !piece["end"].is_null())
    });
    assert_eq!(end["end"], "over", "{end}");
}

/// Waits until this is so.
#[expect(clippy::disallowed_methods, reason = "the server has to be asked again")]
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = SystemClock.boot().plus(DEADLINE);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(SystemClock.boot() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
