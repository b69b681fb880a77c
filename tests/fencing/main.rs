//! The examples of docs/fencing.md, run for real: a table that takes the newest token's write refuses an older one's, in
//! SQLite and in PostgreSQL, and also where solocron's own promise ends.

mod frozen;
#[path = "../support/postgres_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod postgres_server;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use postgres_server::Postgres;
use process::Scene;
use redis_server::RedisServer;
use serde_json::Value;
use solocron::config::{Overrides, Source, load};

/// The files that docs/fencing.md shows.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fencing");

/// What `accounts` holds: all that was paid, and the newest token.
const STATE: &str = "SELECT paid || ' ' || fence FROM accounts";

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files() -> Vec<String> {
    let entries = std::fs::read_dir(FILES).expect("the folder is there");
    entries.map(|entry| entry.expect("readable").file_name().into_string().expect("text")).collect()
}

/// A folder with the examples, and with this jobs.toml.
fn scene(jobs: &str) -> Scene {
    let scene = Scene::new(jobs);
    for name in files().iter().filter(|name| *name != "jobs.toml") {
        std::fs::write(scene.path(name), read(Path::new(FILES).join(name))).expect("a writable folder");
    }
    scene
}

/// What sqlite3 prints for the SQL, on the examples' database.
fn sqlite(scene: &Scene, sql: &str) -> String {
    let output = Command::new("sqlite3")
        .current_dir(scene.path("."))
        .args(["-bail", "-cmd", ".timeout 10000", "accounts.db", sql])
        .output()
        .unwrap_or_else(|error| panic!("sqlite3: {error}; try `apt-get install sqlite3`"));
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs a script of the examples with this token.
fn pay(scene: &Scene, script: &str, fence: u64, equip: &dyn Fn(&mut Command)) -> Output {
    let mut command = Command::new("sh");
    command.arg(script).current_dir(scene.path(".")).env("SOLOCRON_FENCE", fence.to_string());
    equip(&mut command);
    command.output().expect("a shell")
}

fn assert_paid(output: &Output, paid: u32) {
    let said = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.0, format!("paid, {paid} in all\n"), "{said:?}");
    assert!(output.status.success(), "{said:?}");
}

fn assert_rejected(output: &Output, fence: u64) {
    let said = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.0, "", "{said:?}");
    assert_eq!(said.1, format!("not paid: a run with a newer token than {fence} has written already\n"));
    assert_eq!(output.status.code(), Some(1));
}

/// Token 8 writes first; the run with token 7 wakes up after it, and comes again; then token 9 goes on.
fn stale_writer_is_rejected(
    scene: &Scene,
    script: &str,
    equip: &dyn Fn(&mut Command),
    state: &dyn Fn() -> String,
) {
    assert_paid(&pay(scene, script, 8, equip), 100);
    for _ in 0..2 {
        assert_rejected(&pay(scene, script, 7, equip), 7);
    }
    assert_rejected(&pay(scene, script, 8, equip), 8);
    assert_eq!(state(), "100 8");
    assert_paid(&pay(scene, script, 9, equip), 200);
}

#[test]
fn a_stale_writer_is_rejected_by_a_fenced_sqlite_table() {
    let scene = scene("");
    sqlite(&scene, &read(scene.path("accounts.sql")));
    stale_writer_is_rejected(&scene, "pay-sqlite.sh", &|_| {}, &|| sqlite(&scene, STATE));
}

#[test]
fn a_stale_writer_is_rejected_by_a_fenced_postgresql_table() {
    let (scene, server) = (scene(""), Postgres::start());
    server.sql(&read(scene.path("accounts.sql")));
    let equip = |command: &mut Command| {
        server.equip(command);
    };
    stale_writer_is_rejected(&scene, "pay-postgres.sh", &equip, &|| server.sql(STATE));
}

/// The statements in SQL that docs/postgres.md shows in its section on payouts.
fn statements_for_payouts() -> (String, String) {
    let page = read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/postgres.md"));
    let section = page.split_once("\n## Payouts in the same database\n").expect("the section").1;
    let mut blocks = section.split("```sql\n").skip(1);
    let mut block =
        || blocks.next().and_then(|block| block.split_once("```")).expect("a statement").0.to_owned();
    (block(), block())
}

#[test]
fn with_its_data_in_the_store_a_run_pays_only_while_it_holds_the_lock() {
    let (statement, rights) = statements_for_payouts();
    let server = Postgres::start_with_tables();
    server.sql(&read(Path::new(FILES).join("accounts.sql")));
    server.sql("create role billing login; grant select, update on accounts to billing");
    server.sql(&rights);
    let script = read(Path::new(FILES).join("pay-postgres.sh"));
    let (host, port) = (server.host(), server.port());
    let folder = scene(&format!(
        "[cluster]\nname = \"billing\"\n[jobs.pay]\nschedule = \"* * * * * *\"\nshell = \"sh pay-postgres.sh\"\n\
         env = {{ PGHOST = \"{host}\", PGPORT = \"{port}\", PGUSER = \"billing\", PGDATABASE = \"postgres\" }}\n"
    ));
    std::fs::write(folder.path("pay.sql"), statement).expect("a writable folder");
    assert!(script.contains("-f pay.sql"), "{script}");
    let mut replica = folder.run(&["--store", &server.url(), "--job-output", "both"]);
    let ended = replica.wait_for_event("run ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
    let paid = server.sql(STATE);
    let fence: u64 = paid.split_once(' ').expect("two numbers").1.parse().expect("a number");

    // A run wakes up whose lock is free: nobody has paid since, and its token is the newest.
    let equip = |command: &mut Command| {
        server.equip(command).env("PGUSER", "billing");
    };
    assert_rejected(&pay(&folder, "pay-postgres.sh", fence + 1, &equip), fence + 1);
    assert_eq!(server.sql(STATE), paid);
}

#[test]
fn a_database_that_fails_is_not_taken_for_a_stale_token() {
    let scene = scene("");
    let output = pay(&scene, "pay-sqlite.sh", 7, &|_| {});
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such table"), "{output:?}");
    let nowhere = |command: &mut Command| {
        command.env("PGHOST", scene.path("nowhere"));
    };
    let output = pay(&scene, "pay-postgres.sh", 7, &nowhere);
    assert!(!output.status.success() && !output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_jobs_of_the_example_pay_when_solocron_runs_them() {
    let (redis, server) = (RedisServer::start(), Postgres::start());
    let jobs = read(Path::new(FILES).join("jobs.toml"));
    let source = Source::new("jobs.toml", jobs.clone());
    let (_, warnings) = load(&source, &Overrides::default(), &|_| None).expect("a good file");
    assert_eq!(warnings, []);
    let folder = scene("");
    let here = folder.path(".").display().to_string();
    let jobs = jobs
        .replace("0 9 * * MON-FRI", "* * * * * *")
        .replace("/srv/billing", &here)
        .replace("/run/postgresql", server.host())
        .replace("\"billing\", PGDATABASE = \"billing\"", "\"postgres\", PGDATABASE = \"postgres\"");
    std::fs::write(folder.path("jobs.toml"), jobs).expect("a writable folder");
    sqlite(&folder, &read(folder.path("accounts.sql")));
    server.sql(&read(folder.path("accounts.sql")));
    let mut replica = folder.run(&["--store", &redis.url(), "--job-output", "both"]);
    for job in ["pay-sqlite", "pay-postgres"] {
        let of_job = |event: &Value| event["job"] == job;
        let ended = replica.wait_for_event_of("run ended", of_job);
        assert_eq!(ended["outcome"], "succeeded", "{ended}");
    }
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
    for state in [sqlite(&folder, STATE), server.sql(STATE)] {
        let (paid, fence) = state.split_once(' ').expect("two numbers");
        let (paid, fence): (i64, i64) = (paid.parse().expect("a number"), fence.parse().expect("a number"));
        assert!(paid >= 100 && fence > 1_700_000_000_000, "{state}");
    }
}

#[test]
fn the_page_shows_exactly_the_files_that_are_tested() {
    let page = read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fencing.md"));
    for name in files() {
        let language = match name.rsplit_once('.').expect("a file with an ending").1 {
            "sql" => "sql",
            "sh" => "sh",
            "toml" => "toml",
            other => panic!("{name}: what language is {other}?"),
        };
        let shown = format!("`{name}`:\n\n```{language}\n{}```\n", read(Path::new(FILES).join(&name)));
        assert!(page.contains(&shown), "docs/fencing.md does not show {name} as it is");
    }
    let blocks = page.lines().filter(|line| line.starts_with("```") && line.len() > 3);
    let shown = blocks.filter(|opened| *opened != "```console").count();
    assert_eq!(shown, files().len(), "every other block is one of the files");
}

#[test]
fn a_server_of_a_test_leaves_nothing_behind() {
    let server = Postgres::start();
    let folder = server.host().to_owned();
    let pid = read(Path::new(&folder).join("data/postmaster.pid"));
    let process = format!("/proc/{}", pid.lines().next().expect("its id"));
    assert!(Path::new(&process).exists());
    drop(server);
    assert!(!Path::new(&process).exists() && !Path::new(&folder).exists());
}
