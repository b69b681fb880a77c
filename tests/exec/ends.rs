//! How it ends.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::process::Program;
use crate::stage::Stage;

pub(crate) fn it_ends_as_its_command_does(stage: &Stage) {
    stage.call("a", &[], "exit 0").expect_code(0);
    stage.call("a", &[], "exit 70").expect_code(70);
    stage.call("a", &[], "kill -USR1 $$").expect_code(138);
    let exec =
        |program: &str| Program::start(&mut stage.command(&["exec", "--lock", "a", "--", program])).wait();
    let said = exec("no-such-program").expect_code(127).log;
    assert!(said.contains("cannot start `no-such-program`") && said.contains("full path"), "{said}");
    let said = exec("/etc/passwd").expect_code(126).log;
    assert!(said.contains("cannot start `/etc/passwd`: Permission denied"), "{said}");
    stage.call("a", &[], "exit 0").expect_code(0);
}

pub(crate) fn the_command_has_the_streams_and_knows_which_run_it_is(stage: &Stage) {
    let line = "cat; echo to stderr >&2; echo $SOLOCRON_JOB $SOLOCRON_NODE $SOLOCRON_CAUSE $SOLOCRON_ATTEMPT; \
                echo $SOLOCRON_TICK $SOLOCRON_TICK_LOCAL $SOLOCRON_FENCE";
    let mut command = stage.exec("rare", &[], line);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    child.stdin.take().expect("it is piped").write_all(b"to stdin\n").expect("the other end is open");
    let output = child.wait_with_output().expect("our child");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines[0], lines[1]), ("to stdin", "rare here manual 1"));
    // The first use of a name takes two seconds, which are told.
    let waited = "waiting until lock `rare` is certainly free: 2s for a new name, one lease at most after its holder crashed\n";
    assert_eq!(err, format!("{waited}to stderr\n"));
    let rest: Vec<&str> = lines[2].split(' ').collect();
    assert!(rest[0].ends_with('Z') && rest[1].ends_with("+00:00"), "{rest:?}");
    assert!(rest[2].parse::<i64>().is_ok_and(|fence| fence > 0), "{rest:?}");

    let entry = stage.newest("rare");
    assert_eq!((&entry["cause"], &entry["outcome"]), (&"manual".into(), &"succeeded".into()));
    assert_eq!((&entry["node"], &entry["exit_code"]), (&"here".into(), &0.into()));
    assert_eq!(entry["fence"].to_string(), rest[2]);
    assert!(!stage.scene.path("state").exists(), "it leaves no file of its own");
}

pub(crate) fn a_signal_stops_the_command_in_order_and_gives_the_lock_back(stage: &Stage) {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let line = "trap 'echo cleaned up; exit 0' TERM; echo up; while :; do sleep 0.05; done";
        let mut program = Program::start(&mut stage.exec("rare", &["--lease", "5m"], line));
        program.wait_for("that it is up", |line| line == "up");
        program.signal(signal);
        let said = program.wait().expect_code(code).log;
        assert!(said.contains("cleaned up"), "{said}");
    }
    stage.call("rare", &[], "exit 8").expect_code(8);
    let history = stage.asked(&["history", "rare", "--format", "json"]);
    assert_eq!(history.matches("\"shutdown\"").count(), 3, "{history}");
}

pub(crate) fn a_second_signal_kills_at_once(stage: &Stage) {
    let line = "trap 'echo deaf' TERM; echo up; while :; do sleep 0.05; done";
    let mut program = Program::start(&mut stage.exec("a", &[], line));
    program.wait_for("that it is up", |line| line == "up");
    let began = SystemClock.boot();
    program.signal(Signal::SIGTERM);
    program.wait_for("that it heard", |line| line == "deaf");
    program.signal(Signal::SIGTERM);
    program.wait().expect_code(143);
    let took = SystemClock.boot().since(began);
    assert!(took < Duration::from_secs(10), "its grace is ten seconds: {took:?}");
    stage.call("a", &[], ":").expect_code(0);
}

pub(crate) fn a_signal_while_it_waits_ends_it(stage: &Stage) {
    let holder = stage.hold("a", &[], ":");
    let waiter = Program::start(&mut stage.exec("a", &["--wait", "5m"], "echo it ran"));
    waiter.wait_until_it_catches(Signal::SIGTERM);
    waiter.signal(Signal::SIGTERM);
    assert_eq!(waiter.wait().expect_code(143).log, "");
    holder.let_go().expect_code(0);
    stage.call("a", &[], ":").expect_code(0);
}

pub(crate) fn ctrl_c_on_a_terminal_ends_the_script_around_it_too(stage: &Stage) {
    // As on Ctrl-C, the command ends by SIGINT, and nobody else has heard of it.
    let line = "$SOLOCRON exec --lock a -- sh -c \"echo within; kill -INT \\$\\$\"; echo after";
    let script = |command: &mut std::process::Command| {
        command.env("SOLOCRON", env!("CARGO_BIN_EXE_solocron"));
        command.stdin(Stdio::null()).output().expect("a script").stdout
    };
    let words = ["-qec", line, "/dev/null"];
    let mut on_terminal = std::process::Command::new("script");
    let said = script(stage.equip(&mut on_terminal).args(words).env("SHELL", "/bin/sh"));
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("within") && !said.contains("after"), "{said}");

    let mut without = std::process::Command::new("sh");
    let said = script(stage.equip(&mut without).args(["-c", line]));
    assert_eq!(String::from_utf8_lossy(&said), "within\nafter\n", "it was no Ctrl-C");
}
