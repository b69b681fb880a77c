//! What `check --probe` and a replica say of how their store is set up, on real servers with real settings.

mod blocked;
mod diagnoses;
mod foreign;
mod postgres;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../support/postgres_server.rs"]
mod postgres_server;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod said;
mod state_folder;
#[path = "../support/tls.rs"]
mod tls;
mod warnings;

use std::process::Command;
use std::time::Duration;

use process::{Program, Scene};
use redis_server::RedisServer;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

const JOBS: &str = r#"
[cluster]
name = "billing"
store = "${STORE}"
[jobs.pay]
schedule = "* * * * * *"
lease = "5s"
command = ["true"]
"#;

/// The most careful settings that there are.
const CAREFUL: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// What the program says as JSON, and how it exits.
fn probe(store: &str) -> (Value, i32) {
    probe_with(store, |_| {})
}

fn probe_with(store: &str, change: impl Fn(&mut Command)) -> (Value, i32) {
    let scene = Scene::new(JOBS);
    let mut command = scene.command(&["check", "--probe", "--format", "json"]);
    command.env("STORE", store);
    change(&mut command);
    let output = command.output().expect("the program was built");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code().expect("it exits"))
}

/// `severity what: value` of each finding that is no note.
fn complaints(report: &Value) -> Vec<String> {
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let line = |finding: &Value| {
        format!("{} {}: {}", text(finding, "severity"), text(finding, "what"), text(finding, "value"))
    };
    let findings = report["probe"]["findings"].as_array().expect("findings");
    findings.iter().filter(|finding| finding["severity"] != "note").map(line).collect()
}

/// The only complaint about this server, and the exit code.
fn only_complaint(server: &RedisServer) -> (String, i32) {
    let (report, code) = probe(&server.url());
    let mut complaints = complaints(&report);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert_eq!(report["ok"], code == 0, "{report}");
    (complaints.remove(0), code)
}

#[test]
fn a_careful_server_gives_no_cause_to_complain_and_is_left_as_it_was() {
    let server = RedisServer::start_with(&CAREFUL);
    let (report, code) = probe(&server.url());
    assert_eq!((complaints(&report), code), (vec![], 0));
    assert_eq!(report["probe"]["store"], server.url());
    assert_eq!(server.cli(&["KEYS", "*"]), "");
}

#[test]
fn people_read_the_store_after_the_file_with_the_way_out() {
    let server = RedisServer::start();
    let scene = Scene::new(JOBS);
    let ended = Program::start(scene.command(&["check", "--probe"]).env("STORE", server.url())).wait();
    let log = ended.expect_code(0).log;
    for line in [
        "jobs.toml: 1 job, no errors, no warnings",
        &format!("{}: no errors, 1 warning", server.url()),
        "  role: primary",
        "  round trip: ",
        "  store's clock: ",
        "warning: Redis has no persistence: a restart loses every record, ",
        "help: set `appendonly yes`",
    ] {
        assert!(log.contains(line), "{line} is not in:\n{log}");
    }
}

#[test]
fn each_setting_that_is_unsafe_is_said_with_its_value() {
    for (settings, words, code) in [
        (&[][..], ["warning", "loses every record", "neither append-only file nor snapshots"], 0),
        (&["--save", "3600 1"], ["warning", "since its last snapshot", "save 3600 1"], 0),
        (&["--appendonly", "yes", "--appendfsync", "no"], ["warning", "half a minute", "appendfsync no"], 0),
        (
            &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"],
            ["warning", "records may be evicted", "allkeys-lru, maxmemory 100 MiB"],
            0,
        ),
        (
            &["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"],
            ["warning", "lock keys may be evicted", "volatile-ttl"],
            0,
        ),
        (&["--maxmemory", "1"], ["error", "memory is full", "% of 1 bytes"], 1),
    ] {
        let is_about_files = settings.is_empty() || settings[0] == "--save" || settings[0] == "--appendonly";
        let settings = if is_about_files { settings.to_vec() } else { [&CAREFUL, settings].concat() };
        let (said, exit) = only_complaint(&RedisServer::start_with(&settings));
        assert!(words.iter().all(|word| said.contains(word)), "{said} lacks some of {words:?}");
        assert_eq!(exit, code, "{said}");
    }
}

#[test]
fn a_primary_that_goes_on_without_its_follower_is_warned_of() {
    let server = RedisServer::start_with(&CAREFUL);
    let port = server.port().to_string();
    let follower = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]);
    let deadline = SystemClock.boot().plus(process::DEADLINE);
    while !server.cli(&["INFO", "replication"]).contains("state=online") {
        assert!(!deadline.since(SystemClock.boot()).is_zero(), "the follower does not come");
        std::thread::yield_now();
    }
    let (complaint, code) = only_complaint(&server);
    assert!(complaint.contains("followers 1, min-replicas-to-write 0"), "{complaint}");
    assert_eq!(code, 0);
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let (report, _) = probe(&server.url());
    assert_eq!(complaints(&report), [] as [&str; 0]);
    drop(follower);
}

#[test]
fn a_server_that_takes_no_claims_is_an_error_that_says_what_it_is() {
    let replica = RedisServer::start_with(&CAREFUL);
    replica.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let (report, code) = probe(&replica.url());
    let said = complaints(&report).join("\n");
    assert!(said.starts_with("error the server is a Redis replica"), "{said}");
    assert!(said.contains("replica of 127.0.0.1:1, link down"), "{said}");
    assert!(said.contains("rights could not be checked"), "{said}");
    assert_eq!(code, 1);

    let node = RedisServer::start_with(&[&CAREFUL[..], &["--cluster-enabled", "yes"]].concat());
    let (report, code) = probe(&node.url());
    let said = complaints(&report).join("\n");
    assert!(said.starts_with("error the server is a node of a Redis Cluster"), "{said}");
    assert_eq!(code, 1);
}

#[test]
fn a_server_that_failed_to_write_its_snapshot_is_an_error() {
    let folder = tempfile::TempDir::new().expect("a folder for temporary files");
    let path = folder.path().join("gone");
    std::fs::create_dir(&path).expect("a writable folder");
    let server = RedisServer::start_with(&["--save", "3600 1", "--dir", path.to_str().expect("text")]);
    std::fs::remove_dir_all(&path).expect("it is ours");
    // Its socket went with the folder.
    let port = server.port().to_string();
    let cli = |words: &[&str]| {
        Command::new("redis-cli").args(["-p", &port]).args(words).output().expect("redis-cli")
    };
    cli(&["BGSAVE"]);
    let begun = SystemClock.boot();
    let failed = || String::from_utf8_lossy(&cli(&["INFO"]).stdout).contains("rdb_last_bgsave_status:err");
    while !failed() {
        assert!(SystemClock.boot().since(begun) < process::DEADLINE, "the snapshot has not failed");
    }
    let (report, code) = probe(&server.url());
    let said = complaints(&report).join("\n");
    assert!(said.starts_with("error the server's last snapshot failed"), "{said}");
    assert_eq!(code, 1);
}

/// The line for a Redis user on the page about Redis, in words.
fn least_privilege() -> Vec<String> {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/redis.md")).expect("readable");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER solocron on ")).expect("the line");
    line.split_whitespace().map(str::to_owned).collect()
}

/// What is reported to that user without one word of its line.
fn complaints_without(server: &RedisServer, word: &str) -> (String, i32) {
    let line = least_privilege();
    let words = line.iter().map(String::as_str).filter(|other| *other != word);
    let words: Vec<&str> = words.collect();
    server.cli(&["ACL", "DELUSER", "solocron"]);
    assert_eq!(server.cli(&words), "OK");
    let (report, code) = probe(&server.url().replace("redis://", "redis://solocron:PASSWORD@"));
    assert!(!report.to_string().contains("PASSWORD"), "{report}");
    let findings = report["probe"]["findings"].as_array().expect("findings");
    let help = |finding: &Value| finding["help"].as_str().map(str::to_owned);
    (findings.iter().filter_map(help).collect::<Vec<_>>().join("\n"), code)
}

#[test]
fn every_right_of_the_page_is_tried_and_named_when_it_is_missing() {
    let server = RedisServer::start_with(&CAREFUL);
    let (helps, code) = complaints_without(&server, "nothing");
    assert!(!helps.contains("ACL SETUSER") && code == 0, "{helps}");
    assert_eq!(server.cli(&["KEYS", "*"]), "");
    let is_right = |word: &&String| word.starts_with(['+', '~', '&']);
    for right in least_privilege().iter().filter(is_right) {
        let (helps, code) = complaints_without(&server, right);
        let fragment = format!("`ACL SETUSER solocron {right}`");
        assert!(helps.contains(&fragment), "{right}: {helps}");
        let spare =
            ["+ping", "+select", "+smembers", "+hmget", "+hlen", "+hstrlen", "+publish", "+subscribe"];
        let is_spare = spare.contains(&right.as_str()) || right.starts_with('&');
        assert_eq!(code, i32::from(!is_spare), "{right}: {helps}");
    }
    // A text that it may not remove expires after a second.
    let deadline = SystemClock.boot().plus(Duration::from_secs(5));
    while !server.cli(&["KEYS", "*"]).is_empty() {
        assert!(SystemClock.boot() < deadline, "a text stays in the store");
    }
}

#[test]
fn what_may_not_be_read_is_not_taken_for_fine() {
    let server = RedisServer::start_with(&CAREFUL);
    let (helps, code) = complaints_without(&server, "nothing");
    assert!(helps.contains("`+config|get`") && code == 0, "{helps}");
    let with_config = [least_privilege(), vec!["+config|get".to_owned()]].concat();
    server.cli(&with_config.iter().map(String::as_str).collect::<Vec<_>>());
    let (report, code) = probe(&server.url().replace("redis://", "redis://solocron:PASSWORD@"));
    assert_eq!((complaints(&report), code), (vec![], 0));
}

#[test]
fn a_clock_that_is_two_seconds_off_is_said() {
    let folder = tempfile::TempDir::new().expect("a folder for temporary files");
    let shim = folder.path().join("clock_shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/clock_shim.c");
    let compiled = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&shim).arg(source).status();
    assert!(compiled.expect("try `apt-get install gcc libc6-dev`").success());
    let server = RedisServer::start_with(&CAREFUL);
    for (skew, words) in [("2000", " behind this machine's"), ("-2000", " ahead of this machine's")] {
        let (report, code) = probe_with(&server.url(), |command| {
            command.env("LD_PRELOAD", &shim).env("CLOCK_SKEW_MS", skew);
        });
        let said = complaints(&report).join("\n");
        assert!(said.starts_with("warning the store's clock differs") && said.contains(words), "{said}");
        assert_eq!(code, 0);
    }
}

#[test]
fn a_store_that_cannot_be_reached_is_a_finding_of_its_own() {
    // Port 1 is privileged and taken by nobody: the connection is refused at once.
    let (report, code) = probe("redis://127.0.0.1:1/0");
    let said = complaints(&report).join("\n");
    assert!(said.starts_with("error the store cannot be reached"), "{said}");
    assert_eq!((code, &report["ok"]), (69, &Value::Bool(false)));
}

#[test]
fn a_local_store_is_looked_at_and_not_made() {
    let (report, code) = probe("local");
    assert_eq!((complaints(&report), code), (vec![], 0));
    let notes = report["probe"]["findings"].to_string();
    assert!(notes.contains("not there yet") && notes.contains("free space"), "{notes}");

    let scene = Scene::new(JOBS);
    std::fs::create_dir(scene.path("store.db")).expect("a writable folder");
    let store = format!("local:{}", scene.path("store.db").display());
    let (report, code) = probe(&store);
    assert_eq!(code, 69, "a folder is no store: {report}");
}
