//! Three machines of which each reaches only the store: network namespaces, each with one wire to that of the store. What a job
//! prints on one of them is read from another one, by the command and over HTTP.

use std::process::Command;

use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::http_client::request;
use crate::process::{DEADLINE, Program, Scene};
use crate::redis_server::RedisServer;
use crate::stage::texts;

/// Tells the test that it runs within the namespace of the store.
const INSIDE: &str = "SOLOCRON_TEST_NAMESPACES";

/// A token.
const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";

/// Prints a line, waits for the file `go`, and prints another one.
const SCRIPT: &str = "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 3";

#[test]
fn output_is_read_from_machines_that_reach_only_the_store() {
    if std::env::var_os(INSIDE).is_some() {
        return within_the_namespaces();
    }
    let this = std::env::current_exe().expect("a path");
    let mut command = Command::new("unshare");
    // A user namespace gives those who are not root the right to the others.
    command.args(["-Urnm", "--kill-child", "--fork"]).arg(this).env(INSIDE, "1");
    let said = Program::start(command.args([
        "namespaces::output_is_read_from_machines_that_reach_only_the_store",
        "--exact",
        "--nocapture",
    ]));
    let said = said.wait().expect_code(0).log;
    assert!(said.contains("1 passed"), "{said}");
}

/// In the process within the namespaces.
fn within_the_namespaces() {
    tool("ip", &["link", "set", "lo", "up"]);
    let redis = RedisServer::start_with(&["--bind", "0.0.0.0", "--protected-mode", "no"]);
    let scene = Scene::new("");
    std::fs::write(scene.path("token"), TOKEN).expect("a writable folder");
    tool("chmod", &["0400", &scene.path("token").display().to_string()]);
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

/// A network namespace whose wire leads to the store.
struct Machine<'s> {
    number: u8,
    scene: &'s Scene,
    store: String,
    /// Keeps the namespace.
    keeper: Program,
}

impl<'s> Machine<'s> {
    fn new(number: u8, scene: &'s Scene, redis: &RedisServer) -> Self {
        let mut keeper = Program::start(Command::new("unshare").args([
            "-n",
            "sh",
            "-c",
            "echo ready; exec sleep infinity",
        ]));
        keeper.wait_for("that it is there", |line| line == "ready");
        let store = format!("redis://10.77.{number}.1:{}/0", redis.port());
        let machine = Self { number, scene, store, keeper };
        let (near, far) = (format!("near{number}"), format!("far{number}"));
        let id = machine.keeper.pid().to_string();
        tool("ip", &["link", "add", &near, "type", "veth", "peer", "name", &far, "netns", &id]);
        tool("ip", &["addr", "add", &format!("10.77.{number}.1/24"), "dev", &near]);
        tool("ip", &["link", "set", &near, "up"]);
        machine.tool("ip", &["addr", "add", &format!("10.77.{number}.2/24"), "dev", &far]);
        machine.tool("ip", &["link", "set", &far, "up"]);
        machine.tool("ip", &["link", "set", "lo", "up"]);
        machine
    }

    /// A program of this machine, in the folder of the scene.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        self.scene.equip(&mut command).args(["-t", &self.keeper.pid().to_string(), "-n", "--", program]);
        command
    }

    fn tool(&self, program: &str, args: &[&str]) {
        succeed(self.command(program).args(args));
    }

    /// A command of this machine, which has a state folder of its own.
    fn solocron(&self, args: &[&str]) -> Program {
        let state = self.scene.path(&format!("state{}", self.number)).display().to_string();
        let mut command = self.command(env!("CARGO_BIN_EXE_solocron"));
        if args.contains(&"--listen") {
            command.env_remove("SOLOCRON_NO_HTTP");
        }
        Program::start(command.args(args).args(["--store", &self.store, "--state-dir", &state]))
    }

    fn replica(&self, more: &[&str]) -> Program {
        let node = format!("n{}", self.number);
        let mut replica =
            self.solocron(&[&["run", "--log-format", "json", "--node", &node][..], more].concat());
        replica.wait_for_event("replica started");
        replica
    }
}

fn tool(program: &str, args: &[&str]) {
    succeed(Command::new(program).args(args));
}

fn succeed(command: &mut Command) {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
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
