//! Who has the lock.

use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Program};
use crate::stage::Stage;

pub(crate) fn a_lock_that_is_held_ends_it_at_once_and_tells_whose_it_is(stage: &Stage) {
    let holder = stage.hold("a", &[], ":");
    let said = stage.call("a", &[], "echo it ran").expect_code(75).log;
    assert!(said.contains("lock `a` is held by here, since 20"), "{said}");
    assert!(said.contains(&holder.run) && said.contains("--wait") && !said.contains("it ran"), "{said}");
    stage.call("a", &["--conflict-exit-code", "5"], "echo it ran").expect_code(5);
    let silent = stage.call("a", &["--conflict-exit-code", "0"], "echo it ran").expect_code(0).log;
    assert_eq!(silent, "", "cron mails what is printed");
    stage.call("another", &[], "exit 9").expect_code(9);
    holder.let_go().expect_code(0);
    let said = stage.call("a", &[], "exit 4").expect_code(4).log;
    assert_eq!(said, "", "it says nothing as long as all goes well");
}

pub(crate) fn who_waits_too_long_leaves_with_the_same_answer(stage: &Stage) {
    let holder = stage.hold("a", &[], ":");
    let began = SystemClock.boot();
    let said = stage.call("a", &["--wait", "1s"], "echo it ran").expect_code(75).log;
    let took = SystemClock.boot().since(began);
    assert!(took >= Duration::from_secs(1) && took < DEADLINE, "{took:?}");
    assert!(said.contains("lock `a` is still held by here after 1s"), "{said}");
    holder.let_go().expect_code(0);
}

pub(crate) fn who_waits_is_told_for_what_and_until_when(stage: &Stage) {
    let holder = stage.hold("a", &["--lease", "5m"], ":");
    let silent = stage.call("a", &["--wait", "2s", "--conflict-exit-code", "0"], "echo it ran");
    assert_eq!(silent.expect_code(0).log, "", "cron mails what is printed");
    let mut waiter = Program::start(&mut stage.exec("a", &["--wait", "5m"], "exit 6"));
    waiter
        .wait_for("for what it waits", |line| line == "lock `a` is held by here: waiting for it, 5m at most");
    holder.let_go().expect_code(0);
    waiter.wait().expect_code(6);
}

pub(crate) fn who_waits_has_the_lock_soon_after_it_is_given_back(stage: &Stage) {
    // A lease so long that the lock does not free itself within the test.
    let holder = stage.hold("a", &["--lease", "5m"], ":");
    let waiter = Program::start(&mut stage.exec("a", &["--wait", "5m"], "exit 6"));
    // It has been refused at least once by then, as somebody who begins later is.
    stage.call("a", &["--wait", "500ms"], ":").expect_code(75);
    holder.let_go().expect_code(0);
    waiter.wait().expect_code(6);
}

pub(crate) fn many_who_wait_all_have_their_turn_and_never_two_at_once(stage: &Stage) {
    let marker = stage.scene.path("inside").display().to_string();
    // A folder can be made by one only.
    let line = format!("mkdir '{marker}' || exit 99; sleep 0.05; rmdir '{marker}'; echo done");
    // With 0, nothing is told of the wait.
    let flags = ["--wait", "50s", "--conflict-exit-code", "0"];
    let waiters: Vec<Program> = (0..5).map(|_| Program::start(&mut stage.exec("a", &flags, &line))).collect();
    for waiter in waiters {
        assert_eq!(waiter.wait().expect_code(0).log, "done");
    }
}

pub(crate) fn a_holder_that_was_killed_is_not_taken_for_one_for_ever(stage: &Stage) {
    let holder = stage.hold("a", &["--lease", "5s"], ":");
    holder.kill();
    stage.call("a", &["--lease", "5s"], ":").expect_code(75);
    let deadline = SystemClock.boot().plus(DEADLINE);
    // Nobody waits, and nobody but those who do not wait ever asks.
    while stage.call("a", &["--lease", "5s"], ":").status.code() != Some(0) {
        assert!(SystemClock.boot() < deadline, "the lock is held by nobody");
    }
}
