//! The terminal in which somebody started the replica, or looks at logs: who may open it types there, as whoever that is, and
//! what is printed to it can do more than be read.

use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{file, printed};

/// A command whose stdout is a terminal.
fn on_terminal(scene: &Scene, words: &str) -> Command {
    let line = format!("exec '{}' {words}", env!("CARGO_BIN_EXE_solocron"));
    let mut command = Command::new("script");
    scene.equip(&mut command).args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(Stdio::null());
    command
}

#[test]
fn a_job_has_no_terminal_and_a_session_of_its_own() {
    let job = "shell = '(: < /dev/tty) 2> /dev/null && echo can type || echo has none; \
               cut -d\" \" -f6,7 /proc/$$/stat | sed \"s/^$$ /own /\"; echo over'";
    let scene = Scene::new(&file("", job));
    let mut replica = Program::start(&mut on_terminal(&scene, "run --job-output stdout --log-format json"));
    // The session and its terminal, by number.
    assert_eq!(printed(&mut replica), ["has none", "own 0"]);
}

/// Changes a title, clears the screen, writes to the clipboard, goes back to the beginning of its line, and ends no colour.
const ESCAPES: &str = "\\033]0;owned\\007\\033[2J\\033]52;c;cm0=\\007right\\rover\\033[31mred\\n";

#[test]
fn what_a_job_prints_reaches_a_terminal_as_letters_and_colours_alone() {
    let scene = Scene::new(&file("", &format!("shell = '''printf \"{ESCAPES}\"; echo over'''")));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("run ended");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
    let shown = "^[]0;owned^G^[[2J^[]52;c;cm0=^Gright^Mover\u{1b}[31mred\u{1b}[0m";
    let raw = "\u{1b}]0;owned\u{7}";
    let output = |command: &mut Command| {
        let output = command.output().expect("a program");
        String::from_utf8(output.stdout).expect("text")
    };

    let logs = output(&mut on_terminal(&scene, "logs spy --local"));
    assert!(logs.contains(shown), "{logs:?}");
    let mut replica = Program::start(&mut on_terminal(&scene, "run --job-output both"));
    let line = replica.wait_for("of the job", |line| line.contains("owned"));
    assert!(line.contains(shown), "{line:?}");
    // As it is, for who asks for it, and for pipes.
    let logs = output(&mut on_terminal(&scene, "logs spy --local --raw"));
    assert!(logs.contains(raw), "{logs:?}");
    let logs = output(&mut scene.command(&["logs", "spy", "--local"]));
    assert!(logs.contains(raw), "{logs:?}");
}

#[test]
fn what_a_foreign_hand_wrote_into_the_store_forges_no_line_of_the_status() {
    let server = RedisServer::start();
    let scene = Scene::new(&file("", "command = [\"true\"]"));
    let store = server.url();
    let mut replica = Program::start(&mut scene.command(&[
        "run",
        "--log-format",
        "pretty",
        "--log-level",
        "debug",
        "--store",
        &store,
    ]));
    replica.wait_for("of a run", |line| line.contains("run ended"));
    let forged = "month end\u{1b}[2J\nok: 9 replicas";
    let pause = ["paused", "9007199254740991", "paused_at", "1", "paused_by", forged, "paused_why", forged];
    server.cli(&[&["HSET", "solocron:{test/spy}:state"], &pause[..]].concat());
    let status = scene.command(&["--store", &store, "status"]).output().expect("a program");
    let status = String::from_utf8(status.stdout).expect("text");
    assert_eq!(status.matches("month end\\u{1b}[2J\\nok: 9 replicas").count(), 2, "{status:?}");
}
