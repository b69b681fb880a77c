//! What is wrong with a store or its address has one sentence and one way out, in `check --probe`, in the other commands and
//! in a replica's log.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use solocron::time::{Clock, SystemClock, UtcMillis};
use tempfile::TempDir;

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::said::{printed, said, wrong};
use crate::{probe, tls};

const JOBS: &str = r#"
cluster = { name = "lab", store = "local" }
[jobs.a]
schedule = "* * * * * *"
lease = "5s"
command = ["true"]
"#;

const LOST: &str = "store does not answer: no job starts until it does";

fn text<'e>(event: &'e Value, field: &str) -> &'e str {
    event[field].as_str().unwrap_or_default()
}

/// The sentence and the way out in the log of a replica, which goes on.
fn logged(scene: &Scene, store: &str) -> (String, String) {
    let mut replica = scene.run(&["--store", store]);
    let lost = replica.wait_for_event_of(LOST, |event| !event["help"].is_null());
    (text(&lost, "error").to_owned(), text(&lost, "help").to_owned())
}

/// The same sentence and way out everywhere; returned on two lines.
fn everywhere(store: &str) -> String {
    let scene = Scene::new(JOBS);
    let (sentence, help) = logged(&scene, store);
    let (report, code) = probe(store);
    assert_eq!(code, 69, "{report}");
    let found = &report["probe"]["findings"][0];
    assert_eq!(
        (text(found, "what"), text(found, "value"), text(found, "help")),
        ("the store cannot be used", &*sentence, &*help)
    );
    let label = text(&report["probe"], "store");
    let exec = ["exec", "--lock", "x", "--cluster", "lab", "--", "true"];
    for words in [["status"].as_slice(), &["history"], &["kill", "a"], &exec] {
        let (printed, code) = said(&scene, store, words);
        // A command tells what it waits for longer than a second.
        let waits = |line: &&str| line.starts_with("waiting for the store to answer");
        let printed: String = printed.split_inclusive('\n').filter(|line| !waits(line)).collect();
        assert_eq!(printed, format!("error: store {label}: {sentence}\n  help: {help}\n"), "{words:?}");
        assert_eq!(code, 69, "{words:?}");
    }
    format!("{sentence}\n{help}")
}

#[test]
fn a_password_that_is_missing_or_wrong() {
    let server = RedisServer::start_with(&["--requirepass", "s3cret"]);
    let (url, port) = (server.url(), server.port());
    let missing = format!(
        "the server requires a password (NOAUTH Authentication required.)\n\
         put it into the store's URL: `redis://:PASSWORD@127.0.0.1:{port}/0`, or with a user \
         `redis://USER:PASSWORD@127.0.0.1:{port}/0`"
    );
    assert_eq!(everywhere(&url), missing);
    // Another database is chosen before anything is asked.
    let in_other = everywhere(&url.replace("/0", "/1"));
    assert!(in_other.starts_with("the server requires a password ("), "{in_other}");

    let wrong = format!(
        "the server refuses the password\ncorrect it in the store's URL: `redis://USER:PASSWORD@127.0.0.1:{port}/0`; a \
         server that requires no password takes none"
    );
    assert_eq!(everywhere(&url.replace("//", "//:hunter2@")), wrong);
    let of_user = everywhere(&url.replace("//", "//ann:hunter2@"));
    assert!(of_user.starts_with("the server refuses user `ann` with this password\n"), "{of_user}");
}

#[test]
fn a_database_that_the_server_does_not_have() {
    let server = RedisServer::start();
    assert_eq!(
        everywhere(&server.url().replace("/0", "/99")),
        "the server has no database 99 (ERR DB index is out of range)\n\
         name another database at the end of the store's URL, or raise `databases` in the server's configuration"
    );
}

#[test]
fn tls_where_there_is_none_and_none_where_there_is() {
    let plain = RedisServer::start();
    let place = format!("127.0.0.1:{}", plain.port());
    let said = everywhere(&plain.url().replace("redis://", "rediss://"));
    let (sentence, help) = said.split_once('\n').expect("a way out");
    assert!(sentence.starts_with(&place) && sentence.contains("TLS"), "{said}");
    assert_eq!(help, "if this port does not speak TLS, write `redis://` in place of `rediss://`");

    let folder = TempDir::new().expect("a folder for temporary files");
    tls::certificates(folder.path());
    let args = tls::server_args(folder.path(), "no");
    let server = RedisServer::start_with(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let said = everywhere(&server.url());
    let closed = format!("127.0.0.1:{} closed the connection without an answer\n", server.port());
    assert!(said.starts_with(&closed) && said.contains("write `rediss://`"), "{said}");

    let said = everywhere(&format!("rediss://localhost:{}/0", server.port()));
    assert!(said.contains("an authority that is not trusted") && said.contains("`?cacert="), "{said}");
}

#[test]
fn a_server_that_is_no_redis() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            // Who leaves does not want to know.
            let _ = client.read(&mut [0; 1_024]);
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nServer: web\r\n\r\n");
        }
    });
    assert_eq!(
        everywhere(&format!("redis://{address}/0")),
        format!(
            "{address} does not speak the Redis protocol: it sent `HTTP/1.1 400 Bad Request`\n\
             name the host and the port of a Redis or Valkey server in the store's URL"
        )
    );
}

#[test]
fn a_user_without_rights() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "weak", "on", ">s3cret", "~*", "&*", "-@all"]);
    let url = server.url().replace("//", "//weak:s3cret@");
    let scene = Scene::new(JOBS);
    let (sentence, help) = logged(&scene, &url);
    assert!(sentence.starts_with("user `weak` lacks a right (NOPERM "), "{sentence}");
    assert!(help.contains("ACL SETUSER") && help.contains("check --probe"), "{help}");
    let (status, code) = said(&scene, &url, &["status"]);
    assert!(status.contains("user `weak` lacks a right (NOPERM ") && status.contains(&help), "{status}");
    assert_eq!(code, 69);
    let (report, _) = probe(&url);
    assert!(report.to_string().contains("grant it: `ACL SETUSER weak +"), "{report}");
}

/// The program as a user of whom there is nothing else on the machine, with a folder for its state that is root's.
pub(crate) fn as_nobody(scene: &Scene, words: &[&str]) -> Command {
    let program = scene.give_to(7);
    chown(scene.path("jobs.toml"), Some(7), None).expect("root may");
    let mut command = Command::new("setpriv");
    scene.equip(&mut command).args(["--reuid=7", "--regid=7", "--clear-groups"]).arg(program).args(words);
    command
}

fn private(folder: &Path) {
    std::fs::create_dir(folder).expect("a writable folder");
    std::fs::set_permissions(folder, Permissions::from_mode(0o750)).expect("it is ours");
}

#[test]
fn an_embedded_store_in_a_folder_of_another_user() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scene = Scene::new(JOBS);
    private(&scene.path("other"));
    let (folder, store) = (scene.path("other"), scene.path("other/store.db"));
    let url = format!("local:{}", store.display());
    let sentence =
        format!("local store {}: {}: Permission denied (uid 7)", store.display(), folder.display());
    let help = format!(
        "run this as the user `root`, the owner of {folder}, or make it writable for this user (`chown 7 {folder}`), or \
         name another folder with --state-dir",
        folder = folder.display()
    );
    let (status, code) = printed(&mut as_nobody(&scene, &["--store", &url, "status"]));
    assert_eq!((status.as_str(), code), (&*format!("error: {sentence}\n  help: {help}\n"), 69));
    let check = ["--store", &url, "check", "--probe", "--format", "json"];
    let (report, code) = printed(&mut as_nobody(&scene, &check));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let found = &report["probe"]["findings"][0];
    assert_eq!((text(found, "value"), text(found, "help"), code), (&*sentence, &*help, 1));
    assert!(!report.to_string().contains("not there yet"), "{report}");
    let (refused, code) = printed(&mut as_nobody(&scene, &["--store", &url, "run", "--node", "n"]));
    assert_eq!((refused.as_str(), code), (status.as_str(), 69));
}

#[test]
fn an_embedded_store_that_is_no_database_or_not_there() {
    let scene = Scene::new(JOBS);
    let store = scene.path("store.db");
    let url = format!("local:{}", store.display());
    let (status, code) = said(&scene, &url, &["status"]);
    assert_eq!(
        (status, code),
        (
            format!(
                "error: local store {} is not there: no replica has run with it on this machine\n  help: start one with \
                 `solocron run`, or name the replica's folder with --state-dir\n",
                store.display()
            ),
            69
        )
    );

    std::fs::write(&store, "no database at all, but a text that is long enough for one".repeat(9))
        .expect("a folder");
    let sentence = format!(
        "local store {}: the file is not a database that can be read (file is not a database)",
        store.display()
    );
    let help = "name another file with --store local:PATH, or move this one away: the next replica makes a new one, which \
                knows nothing of former runs";
    let (status, code) = said(&scene, &url, &["status"]);
    assert_eq!((status.as_str(), code), (&*format!("error: {sentence}\n  help: {help}\n"), 69));
    let (report, code) = probe(&url);
    let found = &report["probe"]["findings"][0];
    assert_eq!((text(found, "value"), text(found, "help"), code), (&*sentence, help, 69));
    // A replica does not wait for what only a person can mend.
    let (refused, code) = said(&scene, &url, &["run", "--node", "n"]);
    assert_eq!((refused.as_str(), code), (status.as_str(), 69));
    let (refused, code) = said(&scene, &url, &["run", "--node", "n", "--replicas", "2"]);
    assert_eq!(refused.matches(&sentence).count(), 2, "once for each replica: {refused}");
    assert_eq!(code, 69, "{refused}");
}

/// A replica whose job has started on this server.
fn running(server: &RedisServer) -> (Scene, Program) {
    let scene = Scene::new(JOBS);
    let mut replica = scene.run(&["--store", &server.url()]);
    replica.wait_for_event("run started");
    (scene, replica)
}

#[test]
fn a_server_whose_memory_is_full_is_named_by_status_and_why_within_seconds() {
    let server = RedisServer::start();
    let (scene, _replica) = running(&server);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = "the server's memory is full, and no job starts";
    let status = wrong(&scene, &server.url(), full);
    let is_listed = |line: &str| line.trim_start().starts_with(&format!("- {full}"));
    assert!(status.lines().any(is_listed), "{status}");
    // The second that has just passed: whatever came before the server was full may have run.
    let now = UtcMillis(SystemClock.utc().0 / 1_000 * 1_000).to_string();
    let (printed, code) = said(&scene, &server.url(), &["why", "a", &now]);
    assert!(printed.contains(full) && code == 0, "{printed}");
}

#[test]
fn a_password_that_was_set_meanwhile_is_asked_for_in_words() {
    let server = RedisServer::start();
    let (_scene, mut replica) = running(&server);
    server.cli(&["CONFIG", "SET", "requirepass", "s3cret"]);
    server.cli(&["-a", "s3cret", "CLIENT", "KILL", "TYPE", "normal"]);
    replica.wait_for_event_of(LOST, |event| !event["help"].is_null());
    let raw = replica.lines().iter().filter(|line| line.contains("unauthenticated"));
    let raw: Vec<&String> = raw.filter(|line| !line.contains("requires a password")).collect();
    assert!(raw.is_empty(), "{raw:?}");
}
