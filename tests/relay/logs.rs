//! `logs` of a run that has ended, from another machine.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::stage::{Stage, texts};

/// Half a megabyte: many pieces.
const LONG: &str = "i=0; while [ $i -lt 10000 ]; do echo line $i of a long output; i=$((i+1)); done";

pub(crate) fn the_whole_output_of_a_run_elsewhere_is_printed_in_order(mut stage: Stage) {
    stage.start("", LONG);
    stage.run_to_its_end();
    let said = stage.give(&["logs", "talk"]).expect_code(0).log;
    let is_head = |line: &str| line.starts_with("run ") && line.contains(" on n2, tick ");
    assert!(said.lines().any(is_head), "{said:.300}");
    let expected: Vec<String> = (0..10_000).map(|n| format!("line {n} of a long output")).collect();
    assert_eq!(texts(&said), expected);
    let said = stage.give(&["logs", "talk", "--local"]).expect_code(1).log;
    assert!(said.contains("no run of job `talk` in"), "{said}");
    stage.stop();
}

pub(crate) fn the_last_lines_of_a_run_elsewhere_are_printed(mut stage: Stage) {
    stage.start("", LONG);
    stage.run_to_its_end();
    let said = stage.give(&["logs", "talk", "--tail", "2", "--follow"]).expect_code(0).log;
    assert_eq!(texts(&said), ["line 9998 of a long output", "line 9999 of a long output"], "{said}");
    stage.stop();
}

pub(crate) fn of_a_frozen_replica_the_kept_tail_is_printed_and_the_exit_code_is_1(mut stage: Stage) {
    stage.start("", "echo hello");
    stage.run_to_its_end();
    stage.n2().signal(Signal::SIGSTOP);
    let began = SystemClock.boot();
    let said = stage.give(&["logs", "talk"]).expect_code(1).log;
    let took = SystemClock.boot().since(began);
    stage.n2().signal(Signal::SIGCONT);
    assert!(said.contains("warning: n2 does not answer\n"), "{said}");
    assert!(said.contains("these are its last 4 KiB, which the store keeps"), "{said}");
    assert!(said.lines().any(|line| line == "hello"), "{said}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    let said = stage.give(&["logs", "talk"]).expect_code(0).log;
    assert_eq!(texts(&said), ["hello"], "it answers again: {said}");
    stage.stop();
}
