//! The memory of the replica and of its guards, where their jobs run as the same user.

use std::process::Command;

use nix::unistd::geteuid;

use crate::process::{Program, Scene};
use crate::{file, printed, start, start_as};

#[test]
fn a_job_of_the_replicas_user_cannot_read_the_environment_of_replica_or_guard() {
    // Root may read everything: the replica must be somebody else, and only root can start it as that.
    if !geteuid().is_root() {
        return;
    }
    let parent_of = "cut -d\" \" -f4";
    let script = format!(
        "guard=$PPID; maker=$({parent_of} /proc/$guard/stat); replica=$({parent_of} /proc/$maker/stat)\n\
         for one in $guard $maker $replica; do (cat /proc/$one/environ) 2> /dev/null | wc -c; done; echo over"
    );
    let scene = Scene::new(&file("", &format!("shell = '''{script}'''")));
    let mut replica = start_as("4", &scene, &[], &[]);
    assert_eq!(printed(&mut replica), ["0", "0", "0"]);
}

#[test]
fn a_job_in_a_container_reads_no_environment_of_pid_1() {
    if !geteuid().is_root() {
        return;
    }
    let script = "(cat /proc/1/environ) 2> /dev/null | wc -c; echo over";
    let scene = Scene::new(&file("", &format!("shell = '{script}'")));
    let around = ["unshare", "-pf", "--mount-proc", "--kill-child"];
    assert_eq!(printed(&mut start_as("9", &scene, &around, &[])), ["0"]);
}

#[test]
fn guards_and_their_maker_have_no_secret_of_their_replica_in_their_environment() {
    // A new one can be read for a moment, before it has closed itself.
    let parent_of = "cut -d\" \" -f4";
    let script = format!(
        "guard=$PPID; maker=$({parent_of} /proc/$guard/stat)\n\
         for one in $guard $maker; do tr \"\\0\" \"\\n\" < /proc/$one/environ; done; echo over"
    );
    let scene = Scene::new(&file("", &format!("shell = '''{script}'''")));
    let secrets = [("SOLOCRON_NODE", "hunter2"), ("MY_SECRET", "hunter2")];
    if !geteuid().is_root() {
        return;
    }
    let lines = printed(&mut start(&scene, &secrets));
    assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("SOLOCRON_TEST_PROGRAM=")),
        "they were read: {lines:#?}"
    );
}

#[test]
fn a_command_of_exec_has_its_own_lock_also_where_its_guard_hides_its_memory_from_it() {
    if !geteuid().is_root() {
        return;
    }
    let scene = Scene::new(&file("", "command = [\"true\"]"));
    let program = scene.give_to(8);
    let exec = format!("{} exec --lock a --", program.display());
    let mut command = Command::new("setpriv");
    scene.equip(&mut command).args(["--reuid=8", "--regid=8", "--clear-groups", "sh", "-c"]);
    let said = Program::start(command.arg(format!("{exec} sh -c '{exec} echo inner ran'")))
        .wait()
        .expect_code(0)
        .log;
    assert!(said.contains("inner ran"), "{said}");
}
