//! Runs that are followed from another machine.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::process::Program;
use crate::stage::{Stage, texts};

/// Prints a line, waits for the file `go`, and prints another one.
fn two_lines(stage: &Stage) -> String {
    let go = stage.path("go").display().to_string();
    format!("echo one; while [ ! -e {go} ]; do sleep 0.1; done; echo two; exit 3")
}

/// The command that follows a run.
enum Following {
    Logs,
    Trigger,
}

/// Starts the replica with these settings of the job that prints two lines, and follows a run of it up to its first line.
fn follow_first_line(stage: &mut Stage, settings: &str, following: Following) -> Program {
    let script = two_lines(stage);
    stage.start(settings, &script);
    let command = match following {
        Following::Logs => {
            stage.trigger();
            "logs"
        }
        Following::Trigger => "trigger",
    };
    let mut followed = stage.begin(&[command, "talk", "--follow"]);
    followed.wait_for("of its output", |line| line.ends_with(" out one"));
    followed
}

pub(crate) fn a_run_elsewhere_is_followed_line_by_line_until_it_ends(mut stage: Stage) {
    let followed = follow_first_line(&mut stage, "", Following::Logs);
    stage.touch("go");
    let said = followed.wait().expect_code(0).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    assert!(said.contains(" ended: failed, exit 3"), "{said}");
    assert_eq!(texts(&stage.give(&["logs", "talk"]).expect_code(0).log), ["one", "two"]);
    stage.stop();
}

#[expect(clippy::disallowed_methods, reason = "no event tells that a ttl is over")]
pub(crate) fn nothing_is_left_20_s_after_a_follower_was_killed(mut stage: Stage) {
    let followed = follow_first_line(&mut stage, "", Following::Logs);
    followed.signal(Signal::SIGKILL);
    std::thread::sleep(Duration::from_secs(20));
    let left = stage.server.as_ref().expect("a server").cli(&["--raw", "KEYS", "solocron:{test}:*"]);
    let is_slip = |key: &&str| key.contains("}:ask:") || key.contains("}:tell:");
    assert_eq!(left.lines().filter(is_slip).count(), 0, "{left}");
    stage.touch("go");
    stage.stop();
}

pub(crate) fn two_followers_of_one_run_both_get_every_line(mut stage: Stage) {
    let script = two_lines(&stage);
    stage.start("", &script);
    stage.trigger();
    let mut followers = [0, 1].map(|_| stage.begin(&["logs", "talk", "--follow"]));
    for follower in &mut followers {
        follower.wait_for("of its output", |line| line.ends_with(" out one"));
    }
    stage.touch("go");
    for follower in followers {
        let said = follower.wait().expect_code(0).log;
        assert_eq!(texts(&said), ["one", "two"], "{said}");
    }
    stage.stop();
}

pub(crate) fn a_replica_that_freezes_for_a_moment_is_waited_for_and_costs_no_line(mut stage: Stage) {
    let mut followed = follow_first_line(&mut stage, "", Following::Logs);
    stage.n2().signal(Signal::SIGSTOP);
    let waits = "n2 does not answer: waiting for it while the run may continue";
    followed.wait_for("that it waits", |line| line == waits);
    stage.n2().signal(Signal::SIGCONT);
    stage.touch("go");
    let said = followed.wait().expect_code(0).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    assert_eq!(said.matches(waits).count(), 1, "{said}");
    assert!(said.contains(" ended: failed, exit 3"), "{said}");
    stage.stop();
}

pub(crate) fn a_replica_that_stays_frozen_is_followed_to_the_recorded_end_of_its_run(mut stage: Stage) {
    let followed = follow_first_line(&mut stage, "lease = \"5s\"", Following::Logs);
    stage.n2().signal(Signal::SIGSTOP);
    let said = followed.wait().expect_code(1).log;
    stage.n2().signal(Signal::SIGCONT);
    assert!(said.contains("warning: n2 does not answer\n"), "{said}");
    assert!(said.contains(" ended: interrupted (node_lost)"), "{said}");
    stage.stop();
}

pub(crate) fn a_follower_waits_for_a_store_that_is_away_for_a_moment(mut stage: Stage) {
    let mut followed = follow_first_line(&mut stage, "", Following::Logs);
    let server = stage.server.as_ref().expect("a server");
    server.freeze();
    followed.wait_for("of the outage", |line| line.contains("the store does not answer"));
    server.thaw();
    stage.touch("go");
    let said = followed.wait().expect_code(0).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    stage.stop();
}

pub(crate) fn a_triggered_run_whose_replica_freezes_for_a_moment_loses_no_line(mut stage: Stage) {
    let mut followed = follow_first_line(&mut stage, "", Following::Trigger);
    stage.n2().signal(Signal::SIGSTOP);
    followed.wait_for("that it does not answer", |line| line == "warning: n2 does not answer");
    stage.n2().signal(Signal::SIGCONT);
    stage.touch("go");
    let said = followed.wait().expect_code(3).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    stage.stop();
}

pub(crate) fn of_a_triggered_run_whose_replica_is_killed_nobody_says_that_it_printed_nothing(
    mut stage: Stage,
) {
    let followed = follow_first_line(&mut stage, "lease = \"5s\"", Following::Trigger);
    stage.n2().signal(Signal::SIGKILL);
    let said = followed.wait().expect_code(1).log;
    assert!(said.contains("note: the store keeps nothing of its output"), "{said}");
    assert!(said.contains("interrupted (node_lost) on n2"), "{said}");
    let later = stage.give(&["logs", "talk"]).expect_code(1).log;
    assert!(later.contains("note: the store keeps nothing of its output"), "{later}");
    for said in [said, later] {
        assert!(!said.contains("printed nothing"), "{said}");
    }
}

pub(crate) fn a_store_that_is_away_for_a_moment_costs_no_line_of_a_triggered_run(mut stage: Stage) {
    let mut followed = follow_first_line(&mut stage, "", Following::Trigger);
    let server = stage.server.as_ref().expect("a server");
    server.freeze();
    followed.wait_for("of the outage", |line| line.contains("the store does not answer"));
    server.thaw();
    stage.touch("go");
    let said = followed.wait().expect_code(3).log;
    assert_eq!(texts(&said), ["one", "two"], "{said}");
    stage.stop();
}

pub(crate) fn bytes_that_were_not_kept_are_told(mut stage: Stage) {
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
    stage.start("max_output = \"64KiB\"", script);
    stage.run_to_its_end();
    let said = stage.give(&["logs", "talk"]).expect_code(0).log;
    let lines = texts(&said);
    assert_eq!((lines.first(), lines.last()), (Some(&"line 0"), Some(&"line 19999")), "{said:.300}");
    let is_gap = |line: &&str| line.contains("bytes of the log are missing here, as `max_output` says");
    let gaps: Vec<&str> = said.lines().filter(is_gap).collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    stage.stop();
}

pub(crate) fn a_chatty_job_is_followed_within_the_budget(mut stage: Stage) {
    let go = stage.path("go").display().to_string();
    // Until the file is there it prints as fast as it can.
    stage.start(
        "max_output = \"16MiB\"",
        &format!("yes | while [ ! -e {go} ] && head -c 1000000; do :; done"),
    );
    stage.trigger();
    let began = SystemClock.boot();
    let mut followed = stage.begin(&["logs", "talk", "--follow"]);
    let mut seen = 0_usize;
    while seen < 1_000_000 {
        seen += followed.wait_for("of its output", |line| line.contains(" out ")).len();
    }
    let took = SystemClock.boot().since(began);
    assert!(took >= Duration::from_secs(1), "{took:?} for {seen} bytes");
    stage.touch("go");
    followed.signal(Signal::SIGINT);
    drop(followed);
    stage.n2().wait_for_event("run recorded");
    stage.stop();
}
