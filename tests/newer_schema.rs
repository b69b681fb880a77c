//! A record that a newer release has written: this release starts nothing of its job and says so, goes on with the others,
//! and takes the job up again once the record is one that it knows.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use process::{Program, Scene};
use redis_server::RedisServer;
use rusqlite::{Connection, params};
use serde_json::Value;

type Fields = BTreeMap<String, String>;

const JOBS: &str = r#"
[cluster]
name = "test"
store = "${STORE}"
[defaults]
lease = "5s"
[jobs.ahead]
schedule = "* * * * * *"
command = ["true"]
[jobs.other]
schedule = "* * * * * *"
command = ["true"]
"#;

const STATE: &str = "solocron:{test/ahead}:state";

/// Where the replicas of a test meet, and how it lays its hands on the record of `ahead`.
enum Store {
    Local,
    Redis(RedisServer),
}

impl Store {
    fn address(&self) -> String {
        match self {
            Self::Local => "local".to_owned(),
            Self::Redis(server) => server.url(),
        }
    }

    fn fields(&self, scene: &Scene) -> Fields {
        match self {
            Self::Local => {
                let sql = "SELECT fields FROM records WHERE job = 'ahead'";
                let text: String = file(scene).query_row(sql, [], |row| row.get(0)).expect("a record");
                serde_json::from_str(&text).expect("JSON")
            }
            Self::Redis(server) => {
                let said = server.cli(&["HGETALL", STATE]);
                let lines: Vec<&str> = said.split('\n').collect();
                let pair = |pair: &[&str]| (pair[0].to_owned(), pair.get(1).unwrap_or(&"").to_string());
                lines.chunks(2).map(pair).collect()
            }
        }
    }

    fn put(&self, scene: &Scene, fields: &Fields) {
        match self {
            Self::Local => {
                let text = serde_json::to_string(fields).expect("texts are plain JSON");
                let sql = "UPDATE records SET fields = ?1 WHERE job = 'ahead'";
                assert_eq!(file(scene).execute(sql, params![text]), Ok(1));
            }
            Self::Redis(server) => {
                let words = fields.iter().flat_map(|(name, value)| [name.as_str(), value]);
                server.cli(&["DEL", STATE]);
                server.cli(&["HSET", STATE].into_iter().chain(words).collect::<Vec<_>>());
            }
        }
    }
}

fn file(scene: &Scene) -> Connection {
    Connection::open(scene.path("state/store.sqlite3")).expect("a store")
}

fn program(scene: &Scene, store: &Store, args: &[&str]) -> Program {
    Program::start(scene.command(args).env("STORE", store.address()))
}

fn replica(scene: &Scene, store: &Store) -> Program {
    program(scene, store, &["run", "--log-format", "json", "--node", "n", "--log-level", "debug"])
}

fn stop(replica: Program) -> String {
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0).log
}

fn of<'a>(job: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |event| event["job"] == job
}

fn wait_for_error(replica: &mut Program) {
    let error = replica.wait_for_event("record was written by a newer release: upgrade this replica");
    assert_eq!(
        (error["job"].as_str(), error["level"].as_str(), error["schema"].as_u64()),
        (Some("ahead"), Some("ERROR"), Some(2))
    );
}

/// The record as a newer release might leave it: with a field and a phase that nobody here has heard of.
fn newer(fields: &Fields) -> Fields {
    let mut newer = fields.clone();
    newer.extend(
        [("schema", "2"), ("phase", "dreaming"), ("colour", "blue")]
            .map(|(name, value)| (name.into(), value.into())),
    );
    newer
}

fn a_newer_record_is_left_alone_and_said(store: &Store) {
    let scene = Scene::new(JOBS);
    let mut before = replica(&scene, store);
    before.wait_for_event_of("run recorded", of("ahead"));
    stop(before);
    let known = store.fields(&scene);
    let newer = newer(&known);
    store.put(&scene, &newer);

    let mut meanwhile = replica(&scene, store);
    wait_for_error(&mut meanwhile);
    for _ in 0..2 {
        meanwhile.wait_for_event_of("run ended", of("other"));
    }
    let status = program(&scene, store, &["status", "--check"]).wait().expect_code(1).log;
    assert!(status.contains("`ahead` has a record of schema 2, and this release knows up to 1"), "{status}");
    let probe = program(&scene, store, &["check", "--probe"]).wait().expect_code(1).log;
    assert!(probe.contains("`ahead` has a record of a newer release"), "{probe}");
    let log = stop(meanwhile);
    let runs = log.lines().filter(|line| line.contains("\"run started\""));
    assert_eq!(runs.filter(|line| line.contains("\"ahead\"")).count(), 0, "{log}");
    assert_eq!(store.fields(&scene), newer, "nothing of it was touched");

    let mut afterwards = replica(&scene, store);
    wait_for_error(&mut afterwards);
    store.put(&scene, &known);
    let ended = afterwards.wait_for_event_of("run ended", of("ahead"));
    assert_eq!(ended["outcome"], "succeeded");
    stop(afterwards);
}

#[test]
fn a_newer_record_in_redis_starts_nothing_and_is_said_until_it_is_set_back() {
    a_newer_record_is_left_alone_and_said(&Store::Redis(RedisServer::start()));
}

#[test]
fn a_newer_record_in_a_local_store_starts_nothing_and_is_said_until_it_is_set_back() {
    a_newer_record_is_left_alone_and_said(&Store::Local);
}

#[test]
fn a_record_that_becomes_newer_while_a_replica_is_up_starts_nothing_from_then_on() {
    let store = Store::Redis(RedisServer::start());
    let Store::Redis(server) = &store else { unreachable!("it was just made") };
    let scene = Scene::new(JOBS);
    let mut replica = replica(&scene, &store);
    // Another release takes the record over while nothing runs.
    let upgrade = "return redis.call('HGET', KEYS[1], 'phase') == 'idle' and redis.call('HSET', KEYS[1], 'schema', '2')";
    loop {
        replica.wait_for_event_of("run recorded", of("ahead"));
        if server.cli(&["EVAL", upgrade, "1", STATE]) == "0" {
            break;
        }
    }
    let fence = server.cli(&["HGET", STATE, "fence"]);
    wait_for_error(&mut replica);
    for _ in 0..2 {
        replica.wait_for_event_of("run ended", of("other"));
    }
    assert_eq!(server.cli(&["HGET", STATE, "fence"]), fence);
    stop(replica);
}
