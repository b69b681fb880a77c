//! Nothing is left of what the replica needs as well: processes, descriptors.

use std::process::Command;

use nix::sys::resource::Resource;
use nix::unistd::geteuid;

use crate::c_program::compile;
use crate::process::{Program, Scene};
use crate::{file, start_as};

/// So many processes and threads that user may have.
const MOST: u32 = 60;

/// For so long the job leaves no process to anybody: past the next tick, at which the replica needs threads again that were
/// without work for longer than they are kept by default.
const FULL_S: u32 = 30;
const PERIOD: &str = "*/20 * * * * *";

#[test]
fn a_job_that_leaves_no_process_to_its_replica_ends_neither_that_nor_other_runs() {
    // Only root can be somebody else, of whom there is nothing but this.
    if !geteuid().is_root() {
        return;
    }
    let bomb = format!("command = [\"./bomb\", \"{FULL_S}\"]");
    let victim = "[jobs.victim]\nschedule = \"* * * * * *\"\ncommand = [\"sleep\", \"200\"]";
    let scene = Scene::new(
        &file("[defaults]\nlease = \"10m\"", &format!("{bomb}\n{victim}")).replace("* * * * * *", PERIOD),
    );
    compile(&scene.path(""), "bomb", &[]);
    let most = format!("--nproc={MOST}");
    let mut replica = start_as("3", &scene, &["prlimit", &most], &[]);
    replica.wait_for_event_of("run ended", |event| event["job"] == "spy");
    // The next one has every process again.
    replica.wait_for_event_of("run started", |event| event["job"] == "spy");
    let said = replica.lines();
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:#?}");
    let has_ended = |line: &&String| line.contains("\"run ended\"") && line.contains("\"job\":\"victim\"");
    assert_eq!(said.iter().find(has_ended), None);
}

#[test]
fn a_replica_without_a_descriptor_left_for_callers_answers_once_it_has_some_again() {
    let scene = Scene::new(&file("", "command = [\"true\"]"));
    let mut replica = crate::start(&scene, &[]);
    replica.wait_for_event("run ended");
    let pid = replica.pid();
    let limit = |soft: u64| {
        let status =
            Command::new("prlimit").arg(format!("--pid={pid}")).arg(format!("--nofile={soft}:")).status();
        assert!(status.expect("a program of util-linux").success());
    };
    let (before, _) = nix::sys::resource::getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    limit(3);
    let caller = Program::start(&mut scene.command(&["reload"]));
    // Meanwhile it cannot start a job either, as that takes pipes.
    (0..2).for_each(|_| drop(replica.wait_for_event_of("run ended", |event| event["outcome"] == "failed")));
    limit(before);
    let ended = caller.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
}
