//! `solocron run` as a process: how it starts, what it says, and how it ends.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::io::Read;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process::{Program, Scene, descendants, make_fifo, say_to};
use redis_server::RedisServer;
use serde_json::Value;

/// A job that says something every second.
const CHATTY: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.chatty]
schedule = "* * * * * *"
shell = "echo a word; echo another >&2"
"#;

/// A job that goes on until somebody writes to the FIFO `go`.
const WAITING: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.waiting]
schedule = "* * * * * *"
start_deadline = "1s"
shell = "echo my pid is $$; trap '' TERM; read word < go; echo told to $word"
"#;

#[test]
fn a_program_that_a_test_drops_takes_its_jobs_with_it() {
    let scene = Scene::new(&WAITING.replace("echo my pid is $$;", "exec 3> life; echo my pid is $$;"));
    make_fifo(&scene.path("go"));
    make_fifo(&scene.path("life"));
    let mut replica = scene.run(&["--job-output", "stdout"]);
    let mut life = std::fs::File::open(scene.path("life")).expect("the job opens it, too");
    replica.wait_for("of the job", |line| line.contains("my pid is"));
    drop(replica);
    // Ends when nobody holds the other end any more.
    let read = life.read(&mut [0]).expect("a FIFO can be read");
    assert_eq!(read, 0);
}

#[test]
fn an_unknown_flag_exits_2_and_says_where_to_look() {
    let scene = Scene::new(CHATTY);
    let ended = Program::start(&mut scene.command(&["run", "--frobnicate"])).wait().expect_code(2);
    assert!(ended.log.contains("--frobnicate") && ended.log.contains("--help"), "{}", ended.log);
}

#[test]
fn a_bad_file_exits_78_with_all_its_problems() {
    let scene = Scene::new(
        "cluster = { store = \"local\", nmae = \"x\" }\n[jobs.a]\nschedule = \"61 * * * *\"\ncommand = [\"true\"]\n\
         [jobs.b]\nschedule = \"@daily\"\n",
    );
    let ended = scene.run(&[]).wait().expect_code(78);
    for problem in ["jobs.toml:1:", "did you mean `name`", "`61`", "job `b`"] {
        assert!(ended.log.contains(problem), "{problem} is not in:\n{}", ended.log);
    }
}

#[test]
fn a_variable_that_is_not_set_is_shown_with_its_place_and_once_for_all_replicas() {
    let scene = Scene::new(&CHATTY.replace("shell =", "env = { WORD = \"a ${MYSECRET}\" }\nshell ="));
    for words in [["run", "--node", "n"].as_slice(), &["run", "--node", "n", "--replicas", "3"]] {
        let said = Program::start(&mut scene.command(words)).wait().expect_code(78).log;
        assert_eq!(
            said.trim_end(),
            "error: job `chatty`: variable `WORD` in `env` refers to the variable `MYSECRET`, which is not set\n \
             --> jobs.toml:5:19\n  |\n5 | env = { WORD = \"***${MYSECRET}\" }\n  |                    ^^^^^^^^^^^\n  |\n  \
             = help: set `MYSECRET` in the environment of solocron, or write `$${` for a literal `${`\n\n\
             jobs.toml: 1 error"
        );
    }
}

#[test]
fn a_file_that_is_not_there_exits_78_and_says_where_it_was_looked_for() {
    let scene = Scene::new("");
    let ended = scene.run(&["--config", "other.toml"]).wait().expect_code(78);
    assert!(ended.log.contains("other.toml") && ended.log.contains("--config"), "{}", ended.log);
}

#[test]
fn an_unreachable_store_is_said_loudly_and_ends_nothing() {
    let scene = Scene::new(CHATTY);
    let mut replica = scene.run(&["--store", "redis+unix:///nowhere/redis.sock"]);
    let lost = replica.wait_for_event("store does not answer: no job starts until it does");
    assert_eq!(lost["level"], "ERROR");
    replica.signal(Signal::SIGTERM);
    let ended = replica.wait().expect_code(0);
    assert!(!ended.log.contains("run ended"), "{}", ended.log);
}

#[test]
fn a_store_that_comes_later_is_used_as_soon_as_it_is_there() {
    let scene = Scene::new(CHATTY);
    let mut server = RedisServer::start();
    server.stop();
    let mut replica = scene.run(&["--store", &server.url()]);
    replica.wait_for_event("store does not answer: no job starts until it does");
    server.start_again();
    replica.wait_for_event("store reached");
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn the_stores_password_is_never_said() {
    let scene = Scene::new(CHATTY);
    // Nobody listens on the first port.
    let mut command = scene.command(&["run", "--log-level", "debug", "--replicas", "2"]);
    let mut replicas = Program::start(command.env("SOLOCRON_STORE", "redis://me:sesame@127.0.0.1:1/0"));
    replicas.wait_for("of the first error", |line| line.contains("store does not answer"));
    replicas.signal(Signal::SIGTERM);
    let ended = replicas.wait().expect_code(0);
    assert!(ended.log.contains("127.0.0.1:1/0"), "{}", ended.log);
    assert!(!ended.log.contains("sesame"), "{}", ended.log);
}

#[test]
fn the_first_sigterm_lets_a_run_finish() {
    let ended = let_finish_after(Signal::SIGTERM);
    assert!(ended.contains("\"outcome\":\"succeeded\""), "{ended}");
}

#[test]
fn sigint_is_like_sigterm() {
    let ended = let_finish_after(Signal::SIGINT);
    assert!(ended.contains("\"outcome\":\"succeeded\""), "{ended}");
}

/// Lets a run finish after a signal, and gives back what the replica said from there on.
fn let_finish_after(signal: Signal) -> String {
    let scene = Scene::new(WAITING);
    make_fifo(&scene.path("go"));
    let mut replica = scene.run(&["--drain", "50s", "--job-output", "stdout"]);
    replica.wait_for("of the job", |line| line.contains("my pid is"));
    replica.signal(signal);
    let draining = replica.wait_for_event("draining: taking no new ticks");
    assert_eq!(draining["running"], 1, "{draining}");
    say_to(&scene.path("go"), "finish\n");
    replica.wait_for("of the job's end", |line| line.contains("told to finish"));
    replica.wait().expect_code(0).log
}

#[test]
fn the_second_sigterm_ends_at_once_and_leaves_nothing_of_the_job() {
    let scene = Scene::new(WAITING);
    make_fifo(&scene.path("go"));
    let mut replica = scene.run(&["--drain", "50s", "--job-output", "stdout"]);
    let line = replica.wait_for("of the job", |line| line.contains("my pid is"));
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("draining: taking no new ticks");
    replica.signal(Signal::SIGTERM);
    let end = replica.wait_for_event("run ended");
    assert_eq!(
        (&end["outcome"], &end["reason"], &end["signal"]),
        (&"interrupted".into(), &"shutdown".into(), &9.into())
    );
    replica.wait().expect_code(0);
    assert_eq!(kill(pid_in(&line), None), Err(nix::errno::Errno::ESRCH));
}

#[test]
fn a_drain_that_takes_too_long_stops_the_run() {
    let scene = Scene::new(&WAITING.replace("trap '' TERM; ", ""));
    make_fifo(&scene.path("go"));
    let mut replica = scene.run(&["--drain", "100ms", "--job-output", "stdout"]);
    replica.wait_for("of the job", |line| line.contains("my pid is"));
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("stopping the runs that are left");
    let end = replica.wait_for_event("run ended");
    assert_eq!((&end["reason"], &end["signal"]), (&"shutdown".into(), &15.into()));
    replica.wait().expect_code(0);
}

fn pid_in(line: &str) -> Pid {
    let (_, rest) = line.split_once("my pid is ").expect("it was waited for");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Pid::from_raw(digits.parse().expect("a process id"))
}

#[test]
fn sighup_ends_nothing() {
    let scene = Scene::new(CHATTY);
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    replica.signal(Signal::SIGHUP);
    replica.wait_for_event("jobs file loaded again");
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_run_leaves_one_line_with_the_fields_of_the_contract() {
    let scene = Scene::new(CHATTY);
    let mut replica = scene.run(&[]);
    let end = replica.wait_for_event("run ended");
    assert_eq!(end["level"], "INFO");
    let expected = [("job", "chatty"), ("node", "n"), ("cause", "schedule"), ("outcome", "succeeded")];
    for (field, value) in expected {
        assert_eq!(end[field], value, "{field} of {end}");
    }
    assert_eq!(end["attempt"], 1, "{end}");
    let tick: jiff::Timestamp = text(&end, "tick").parse().expect("RFC 3339");
    assert!(text(&end, "tick").ends_with(".000Z") && tick.subsec_nanosecond() == 0, "{end}");
    assert_eq!(text(&end, "run").len(), 36, "{end}");
    assert!(end["fence"].as_u64().is_some_and(|fence| fence > 0), "{end}");
    assert_eq!(end.get("reason"), None, "{end}");
}

#[test]
fn a_tick_that_does_not_run_says_why() {
    let scene = Scene::new(WAITING);
    make_fifo(&scene.path("go"));
    let mut replica = scene.run(&[]);
    let skipped = replica.wait_for_event_of("tick skipped", |event| event["reason"] == "overlap");
    let said = ["level", "job", "node", "outcome", "reason"].map(|field| text(&skipped, field));
    assert_eq!(said, ["INFO", "waiting", "n", "skipped", "overlap"]);
    assert!(skipped["tick"].is_string(), "{skipped}");
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_else(|| panic!("{field} is no text in {event}"))
}

#[test]
fn the_output_of_jobs_goes_where_it_is_wanted() {
    for (wanted, in_log, in_file) in [("stdout", true, false), ("file", false, true), ("both", true, true)] {
        let scene = Scene::new(CHATTY);
        let mut replica = scene.run(&["--job-output", wanted]);
        let run = text(&replica.wait_for_event("run ended"), "run").to_owned();
        replica.signal(Signal::SIGTERM);
        let log = replica.wait().expect_code(0).log;
        assert_eq!(log.contains("a word") && log.contains("another"), in_log, "{wanted}:\n{log}");
        let file = std::fs::read_to_string(scene.path(&format!("state/runs/chatty/{run}.log")));
        assert_eq!(
            file.is_ok_and(|text| text.contains(" out a word") && text.contains(" err another")),
            in_file
        );
    }
}

#[test]
fn one_sigint_to_the_parent_stops_all_replicas() {
    let scene = Scene::new(CHATTY);
    let mut replicas = scene.run(&["--replicas", "2", "--log-level", "debug"]);
    // In whichever order.
    for _ in 0..2 {
        replicas.wait_for_event("replica started");
    }
    // One of them ran it, and the other says so.
    let is_told = |line: &str| line.contains("tick decided elsewhere") && line.contains("\"holder\":\"");
    let line = replicas.wait_for("of the other", is_told);
    let event: Value = serde_json::from_str(&line).expect("JSON");
    let mut nodes = [text(&event, "holder"), text(&event, "node")];
    nodes.sort_unstable();
    assert_eq!(nodes, ["n-1", "n-2"], "{line}");
    replicas.signal(Signal::SIGINT);
    let ended = replicas.wait().expect_code(0);
    assert_eq!(ended.log.matches("replica stopped").count(), 2, "{}", ended.log);
    assert!(ended.log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ended.log);
}

#[test]
fn a_replica_that_dies_is_started_again_by_its_parent_and_every_line_is_json() {
    let scene = Scene::new(CHATTY);
    let mut replicas = scene.run(&["--replicas", "2"]);
    for _ in 0..2 {
        replicas.wait_for_event("replica started");
    }
    let children = descendants(replicas.pid());
    let is_replica = |pid: &&Pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(4).any(|word| word == b"n-2\0")
    };
    kill(*children.iter().find(is_replica).expect("the second one"), Signal::SIGKILL).expect("it runs");
    let died = replicas.wait_for_event("replica n-2 ended: signal: 9 (SIGKILL); it is started again in 1s");
    assert_eq!((&died["level"], &died["node"]), (&"ERROR".into(), &"n-2".into()), "{died}");
    replicas.wait_for_event_of("replica started", |event| event["node"] == "n-2");
    replicas.signal(Signal::SIGTERM);
    replicas.wait().expect_code(0);
}

#[test]
fn a_killed_parent_takes_its_replicas_with_it() {
    let scene = Scene::new(CHATTY);
    let mut replicas = scene.run(&["--replicas", "2"]);
    for _ in 0..2 {
        replicas.wait_for("of a replica's start", |line| line.contains("replica started"));
    }
    replicas.signal(Signal::SIGKILL);
    replicas.wait_until_all_gone();
}

#[test]
fn a_disk_that_hangs_keeps_no_job_from_running_and_no_replica_from_ending() {
    let scene = Scene::new(CHATTY);
    let notes = scene.path("state/leases/test/n");
    std::fs::create_dir_all(&notes).expect("a writable folder");
    // Whoever writes there waits until somebody reads.
    make_fifo(&notes.join("chatty.json"));
    let mut replica = scene.run(&[]);
    let warned = replica.wait_for_event(
        "cannot write the locks to disk: after a crash of this replica their jobs wait one lease",
    );
    assert_eq!(warned["job"], "chatty");
    (0..4).for_each(|_| drop(replica.wait_for_event("run ended")));
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn people_get_colours_where_they_are_wanted() {
    let scene = Scene::new(CHATTY);
    let mut command = scene.command(&["run", "--log-format", "pretty", "--replicas", "2"]);
    let mut replicas = Program::start(command.env("CLICOLOR_FORCE", "1"));
    let line = replicas.wait_for("of a run", |line| line.contains("run ended"));
    assert!(line.contains("\u{1b}["), "{line}");
    let plain = anstream::adapter::strip_str(&line).to_string();
    assert!(plain.contains(" | ") && plain.contains("run ended: succeeded"), "{plain}");
    replicas.signal(Signal::SIGTERM);
    replicas.wait().expect_code(0);
}
