//! A lock that is held already by what a command runs within.

use std::os::unix::fs::{PermissionsExt, symlink};

use nix::unistd::geteuid;

use crate::process::Program;
use crate::stage::Stage;

pub(crate) fn a_command_within_runs_under_the_lock_that_is_held_and_does_not_give_it_back(stage: &Stage) {
    let within = "\"$SOLOCRON\" exec --lock a -- sh -c 'echo within $SOLOCRON_RUN; exit 7'; echo code $?";
    let holder = stage.hold("a", &[], within);
    stage.call("a", &[], "echo it ran").expect_code(75);
    let run = holder.run.clone();
    let said = holder.let_go().expect_code(0).log;
    assert!(said.contains(&format!("within {run}\ncode 7\n")), "{said}");
}

pub(crate) fn the_lock_of_any_run_around_is_lent(stage: &Stage) {
    let innermost = "echo innermost $SOLOCRON_JOB $SOLOCRON_FENCE";
    let inner = format!("\"$SOLOCRON\" exec --lock a -- sh -c '{innermost}'");
    let line =
        "echo outermost $SOLOCRON_JOB $SOLOCRON_FENCE; \"$SOLOCRON\" exec --lock b -- sh -c \"$INNER\"";
    let mut command = stage.exec("a", &[], line);
    let said = Program::start(command.env("INNER", inner)).wait().expect_code(0).log;
    let fence = said.lines().find_map(|line| line.strip_prefix("outermost a ")).expect("its fence");
    assert!(said.ends_with(&format!("innermost a {fence}")), "by the fence of the lock that is lent: {said}");
}

pub(crate) fn variables_that_were_copied_lend_nothing(stage: &Stage) {
    let holder = stage.hold("a", &[], ":");
    // All true, but for a process that nobody would stop with the run.
    let mut command = stage.exec("a", &[], "echo it ran");
    command.env("SOLOCRON_JOB", "a").env("SOLOCRON_RUN", &holder.run).env("SOLOCRON_FENCE", &holder.fence);
    let said = Program::start(&mut command).wait().expect_code(75).log;
    assert!(!said.contains("it ran"), "{said}");
    // A part of a run, but of one that does not hold this lock.
    let lie = format!("SOLOCRON_JOB=a SOLOCRON_RUN={} SOLOCRON_FENCE={}", holder.run, holder.fence);
    // Also where they are the variables of its main process itself, whose parent is a guard: of another run.
    for begin in ["", "exec env "] {
        let line = format!("{begin}{lie} \"$SOLOCRON\" exec --lock a -- echo it ran");
        let said = stage.call("b", &[], &line).expect_code(75).log;
        assert!(!said.contains("it ran"), "{said}");
    }
    holder.let_go().expect_code(0);
}

pub(crate) fn a_process_that_takes_the_name_of_a_guard_lends_nothing(stage: &Stage) {
    let name = stage.scene.path(&format!("guard-{}", solocron::job::RunId::new()));
    let holder = stage.hold("a", &[], &format!("cat /proc/$PPID/comm > '{}'", name.display()));
    let copied = format!("SOLOCRON_JOB=a SOLOCRON_RUN={} SOLOCRON_FENCE={}", holder.run, holder.fence);
    let within = "'\"$SOLOCRON\" exec --lock a -- echo it ran; exit $?'";
    let take = format!("read -r name < '{}'; printf $name > /proc/$$/comm", name.display());
    let line = format!("{take}; {copied} sh -c {within}; exit $?");
    let said = stage.call("b", &[], &line).expect_code(75).log;
    assert!(!said.contains("it ran"), "{said}");
    holder.let_go().expect_code(0);
}

/// Root's guards hide their program from other users, to whom their names, and who made them, have to tell.
#[test]
fn a_guard_of_root_lends_its_lock_to_another_user_and_a_namesake_does_not() {
    assert!(geteuid().is_root(), "this is about root's guards: run this test as root");
    let stage = &Stage::redis();
    let folder = stage.scene.path("");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let program = folder.join("solocron");
    std::fs::copy(env!("CARGO_BIN_EXE_solocron"), &program).expect("room for the program");
    let as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let again = format!("{as_nobody} '{}' exec --lock a -- echo lent", program.display());
    let said = stage.call("a", &[], &format!("exec {again}")).expect_code(0).log;
    assert!(said.contains("lent"), "{said}");
    let name = folder.join("name");
    let holder = stage.hold("a", &[], &format!("cat /proc/$PPID/comm > '{}'", name.display()));
    // As `sudo` is, by such a link: it runs as root, and starts a script as somebody else.
    let link = folder.join(std::fs::read_to_string(&name).expect("the guard's name").trim_end());
    symlink("/bin/sh", &link).expect("a new name");
    let copied = format!("SOLOCRON_JOB=a SOLOCRON_RUN={} SOLOCRON_FENCE={}", holder.run, holder.fence);
    let line = format!("{copied} '{}' -c \"{again}; exit \\$?\"; exit $?", link.display());
    let said = stage.call("b", &[], &line).expect_code(75).log;
    assert!(!said.contains("lent"), "{said}");
    holder.let_go().expect_code(0);
}

pub(crate) fn a_command_within_dies_with_the_run_wherever_it_has_gone(stage: &Stage) {
    let sleeper = "echo within; exec sleep 600";
    let line = format!("setsid \"$SOLOCRON\" exec --lock a -- sh -c '{sleeper}' & wait");
    let mut program = Program::start(&mut stage.exec("a", &["--lease", "15s"], &line));
    program.wait_for("from within", |line| line == "within");
    program.signal(nix::sys::signal::Signal::SIGKILL);
    // Its output ends when the last of those has ended who could write to it.
    program.wait();
}
