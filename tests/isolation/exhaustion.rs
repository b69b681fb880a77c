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

#[test]
fn endless_output_keeps_head_and_newest_part_and_logs_shows_how_much_is_missing() {
    let script = "shell = 'yes | head -c 4000000; echo the end; sleep 600'\nmax_output = \"64KiB\"";
    let scene = Scene::new(&file("", script));
    let mut replica = scene.run(&["--log-level", "debug"]);
    let started = replica.wait_for_event("run started");
    let run = started["run"].as_str().expect("a text");
    // Read while it goes on, as a follower does.
    let follower = &mut Program::start(&mut scene.command(&["logs", "spy", "--local", "--follow"]));
    follower.wait_for("the end", |line| line.ends_with(" out the end"));
    let kept = std::fs::read_dir(scene.path("state/runs/spy")).expect("a folder").flatten();
    let bytes: u64 = kept.map(|entry| entry.metadata().expect("it is there").len()).sum();
    assert!(bytes < (64 << 10) + 2_000, "{bytes} bytes are kept");
    let shown = Program::start(&mut scene.command(&["logs", "spy", "--local", "--run", run])).wait();
    let missing = |line: &&str| {
        line.starts_with("solocron: ") && line.ends_with(" of the log are missing here, as `max_output` says")
    };
    assert_eq!(shown.log.lines().filter(missing).count(), 1, "{}", shown.log);
    assert!(
        shown.log.contains(" out y\n") && shown.log.trim_end().ends_with(" out the end"),
        "{}",
        shown.log
    );
}

#[test]
fn a_job_that_prints_without_end_leaves_the_embedded_store_its_disk() {
    if !geteuid().is_root() {
        return;
    }
    let flood = "shell = 'exec yes'\nmax_output = \"1GiB\"";
    let other = "[jobs.other]\nschedule = \"* * * * * *\"\ncommand = [\"true\"]";
    let scene = Scene::new(&file("", &format!("{flood}\n{other}")));
    // The state folder is a disk of its own, which ends with this process.
    let script = format!(
        "mkdir -p {0} && mount -t tmpfs -o size=100m,mode=700 tmpfs {0} && exec \"$@\"",
        scene.path("state").display()
    );
    let mut command = Command::new("unshare");
    scene.equip(&mut command).args(["--mount", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_solocron")]);
    command.args(["run", "--log-format", "json", "--node", "n"]);
    let mut replica = Program::start(&mut command);
    let dropped = replica.wait_for_event("run log cannot be written, output is dropped");
    assert!(
        dropped["error"].to_string().contains("logs leave the last 16 MiB of it to the store"),
        "{dropped}"
    );
    for _ in 0..5 {
        let ended = replica.wait_for_event_of("run ended", |event| event["job"] == "other");
        assert_eq!(ended["outcome"], "succeeded", "{ended}");
    }
    let said = replica.lines();
    assert!(
        !said.iter().any(|line| line.contains("lock lost") || line.contains("does not answer")),
        "{said:#?}"
    );
}

#[test]
fn a_job_with_max_processes_leaves_processes_to_others() {
    if !geteuid().is_root() {
        return;
    }
    // Of that user there is nothing else: the shell, and seven that it starts.
    let count = "i=0; while [ $i -lt 20 ]; do sleep 5 & i=$((i+1)); done 2>&1";
    let job =
        format!("user = \"games\"\nmax_processes = 8\ncommand = [\"/bin/sh\", \"-c\", '{count}; wait']");
    let scene = Scene::new(&file("", &job));
    let mut replica = crate::start(&scene, &[]);
    let refused = replica.wait_for_event_of("output", |event| event["line"].to_string().contains("fork"));
    assert_eq!(refused["job"], "spy");
}
