//! What happens on one replica, on the page and in the events of another: two replicas on each store, of which one only
//! works, without HTTP, and the other is only looked at.

use std::net::SocketAddr;
use std::time::Duration;

use nix::sys::signal::Signal;
use rusqlite::Connection;
use solocron::time::{Clock, SystemClock};

use crate::http_client::{OpenAnswer, get};
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{address_of, eventually};

/// A failure shows on the page of every replica within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// Jobs that fail. One of them is shown in time however busy the machine is.
const JOBS: [&str; 3] = ["one", "two", "three"];

/// A job that fails.
fn failing(name: &str) -> String {
    format!("[jobs.{name}]\nschedule = \"0 0 29 2 *\"\nonly_on = [\"works\"]\nshell = \"exit 3\"\n")
}

/// Replicas n1, which works, and n2, which serves.
struct Pair {
    scene: Scene,
    store: String,
    /// `None` on an embedded store.
    server: Option<RedisServer>,
    n1: Program,
    n2: Program,
    address: SocketAddr,
}

impl Pair {
    fn local() -> Self {
        let scene = Scene::new("");
        let store = format!("local:{}", scene.path("store.sqlite3").display());
        Self::start(scene, store, None)
    }

    fn redis() -> Self {
        let server = RedisServer::start();
        let store = server.url();
        Self::start(Scene::new(""), store, Some(server))
    }

    fn start(scene: Scene, store: String, server: Option<RedisServer>) -> Self {
        let jobs: String = JOBS.into_iter().map(failing).collect();
        scene.edit(&format!("[cluster]\nname = \"test\"\nstore = \"local\"\n{jobs}"));
        let n1 = Program::start(&mut command(&scene, &store, "n1", &["--label", "works"]));
        let mut n2 = command(&scene, &store, "n2", &["--listen", "127.0.0.1:0"]);
        let mut n2 = Program::start(n2.env_remove("SOLOCRON_NO_HTTP"));
        let address = address_of(&mut n2);
        Self { scene, store, server, n1, n2, address }
    }

    /// Waits until the page of n2 contains this.
    fn page_shows(&self, wanted: &str) {
        eventually(wanted, || get(self.address, "/").body.contains(wanted).then_some(()));
    }

    /// Opens the events of n2, and waits until it hears n1: both are up.
    fn events(&mut self) -> OpenAnswer {
        self.page_shows(&format!("<tr id=\"job-{}\"", JOBS[0]));
        let mut events = OpenAnswer::open(self.address, "/api/v1/events", &[]);
        events.wait_for("still here");
        events
    }

    /// Gives a command, from a machine of its own, until it succeeds.
    fn give(&self, args: &[&str]) {
        let elsewhere = self.scene.path("elsewhere").display().to_string();
        let place = ["--store", &self.store, "--state-dir", &elsewhere];
        eventually("a command that succeeds", || {
            let ended = Program::start(&mut self.scene.command(&[args, &place].concat())).wait();
            ended.status.success().then_some(())
        });
    }

    /// Lets the store answer nobody until n1 has noticed it.
    fn take_the_store_away(&mut self) {
        match &self.server {
            Some(server) => {
                server.freeze();
                self.n1.wait_for_event("store does not answer: no job starts until it does");
                server.thaw();
            }
            None => {
                let file = Connection::open(self.scene.path("store.sqlite3")).expect("it is there");
                file.busy_timeout(SHOWN_WITHIN).expect("a limit");
                file.execute_batch("BEGIN IMMEDIATE").expect("others are done before long");
                self.n1.wait_for_event("store does not answer: no job starts until it does");
                file.execute_batch("ROLLBACK").expect("it began");
            }
        }
        self.n1.wait_for_event("store reached");
    }

    fn stop(self) {
        for replica in [self.n1, self.n2] {
            replica.signal(Signal::SIGTERM);
            replica.wait().expect_code(0);
        }
    }
}

/// `run` of a replica with a state folder of its own, and with further arguments.
fn command(scene: &Scene, store: &str, node: &str, more: &[&str]) -> std::process::Command {
    let state = scene.path(node).display().to_string();
    let place = ["run", "--log-format", "json", "--node", node, "--state-dir", &state, "--store", store];
    scene.command(&[&place[..], more].concat())
}

/// Returns the text by which n2 tells something of n1.
fn of_n1(word: &str) -> String {
    format!("\"node\":\"n1\",\"what\":\"{word}\"")
}

fn a_failing_run_elsewhere_is_shown(mut pair: Pair) {
    let mut events = pair.events();
    let mut took = Vec::new();
    for job in JOBS {
        pair.give(&["trigger", job]);
        pair.n1.wait_for_event("run ended");
        let ended = SystemClock.boot();
        pair.page_shows(&format!("<tr id=\"job-{job}\" class=\"failing\""));
        events.wait_for(&of_n1("run_ended"));
        took.push(SystemClock.boot().since(ended));
    }
    assert!(took.iter().any(|took| *took <= SHOWN_WITHIN), "{took:?}");
    pair.stop();
}

fn an_outage_elsewhere_is_told_and_drawn(mut pair: Pair) {
    let mut events = pair.events();
    pair.take_the_store_away();
    let told = events.wait_for(&of_n1("store_lost"));
    if !told.contains(&of_n1("store_reached")) {
        events.wait_for(&of_n1("store_reached"));
    }
    pair.page_shows("<g class=\"band away\"><title>store away, ");
    pair.stop();
}

#[test]
fn a_failing_run_elsewhere_is_shown_within_two_seconds_on_an_embedded_store() {
    a_failing_run_elsewhere_is_shown(Pair::local());
}

#[test]
fn a_failing_run_elsewhere_is_shown_within_two_seconds_on_redis() {
    a_failing_run_elsewhere_is_shown(Pair::redis());
}

#[test]
fn an_outage_is_told_for_each_replica_and_drawn_on_an_embedded_store() {
    an_outage_elsewhere_is_told_and_drawn(Pair::local());
}

#[test]
fn an_outage_is_told_for_each_replica_and_drawn_on_redis() {
    an_outage_elsewhere_is_told_and_drawn(Pair::redis());
}
