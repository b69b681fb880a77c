//! Files that other users could write, or that another user owns: jobs.toml, the embedded store, the state folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use crate::process::{Program, Scene};
use crate::{RUN, file, start, start_as};

fn jobs() -> Scene {
    Scene::new(&file("", "command = [\"true\"]"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its owner is this user");
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o7777
}

/// What a command says that refuses to begin.
fn refusal(scene: &Scene, words: &[&str], code: i32) -> String {
    Program::start(&mut scene.command(words)).wait().expect_code(code).log
}

#[test]
fn a_jobs_toml_that_others_may_write_is_not_run() {
    let scene = jobs();
    set_mode(&scene.path("jobs.toml"), 0o666);
    let said = refusal(&scene, &["run"], 78);
    assert!(said.contains("jobs.toml may be written by other users (mode 0666)"), "{said}");
    assert!(said.contains("chmod go-w jobs.toml"), "{said}");
}

#[test]
fn root_obeys_no_jobs_toml_of_another_user_not_even_to_show_the_status() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    chown(scene.path("jobs.toml"), Some(65_534), None).expect("root may");
    for command in ["run", "status", "check", "history"] {
        let said = refusal(&scene, &[command], 78);
        assert!(said.contains("jobs.toml belongs to the user `nobody`"), "{command}: {said}");
        assert!(said.contains("chown") && said.contains("--config"), "{command}: {said}");
    }
}

#[test]
fn without_root_another_users_jobs_toml_runs_only_if_named_and_with_a_warning() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    chown(scene.path("jobs.toml"), Some(65_534), Some(65_534)).expect("root may");
    let said = start_as("5", &scene, &[], &[]).wait().expect_code(78).log;
    assert!(said.contains("jobs.toml belongs to the user `nobody`"), "{said}");

    fs::rename(scene.path("jobs.toml"), scene.path("mounted.toml")).expect("a writable folder");
    let around = ["env", "SOLOCRON_CONFIG=mounted.toml"];
    let mut replica = start_as("5", &scene, &around, &[]);
    let warned = replica.wait_for("of a warning", |line| line.contains("belongs to the user"));
    assert!(warned.contains("\"WARN\""), "{warned}");
    replica.wait_for_event("run ended");
}

#[test]
fn the_embedded_store_is_its_owners_alone() {
    let scene = jobs();
    let mut replica = start(&scene, &[]);
    replica.wait_for_event("run ended");
    for name in ["store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm"] {
        assert_eq!(mode(&scene.path("state").join(name)), 0o600, "{name}");
    }
    drop(replica);
    // As an earlier release made it.
    set_mode(&scene.path("state/store.sqlite3"), 0o644);
    let mut replica = start(&scene, &[]);
    replica.wait_for_event("run ended");
    assert_eq!(mode(&scene.path("state/store.sqlite3")), 0o600);
}

#[test]
fn a_store_that_another_user_made_first_or_that_is_a_link_is_refused() {
    let scene = jobs();
    let store = scene.path("locks");
    let exec = ["--store", &format!("local:{}", store.display()), "exec", "--lock", "x", "--", "true"];
    fs::write(&store, "").expect("a writable folder");
    set_mode(&store, 0o666);
    let said = refusal(&scene, &exec, 69);
    assert!(said.contains("locks may be written by other users (mode 0666)"), "{said}");

    fs::remove_file(&store).expect("it is there");
    fs::write(scene.path("elsewhere"), "").expect("a writable folder");
    symlink(scene.path("elsewhere"), &store).expect("a writable folder");
    let said = refusal(&scene, &exec, 69);
    assert!(said.contains("locks is a symbolic link"), "{said}");
    assert_eq!(fs::read(scene.path("elsewhere")).expect("it is there"), b"", "nothing was written to it");
}

#[test]
fn the_folder_of_a_store_is_not_open_to_others_whatever_the_umask() {
    let scene = jobs();
    let words = format!(
        "umask 000; exec '{}' --store local:{}/made/locks exec --lock x -- true",
        env!("CARGO_BIN_EXE_solocron"),
        scene.path("").display()
    );
    let mut command = std::process::Command::new("sh");
    Program::start(scene.equip(&mut command).args(["-c", &words])).wait().expect_code(0);
    assert_eq!(mode(&scene.path("made")), 0o750);
    assert_eq!(mode(&scene.path("made/locks")), 0o600);
}

#[test]
fn whatever_the_umask_a_replica_starts_with_the_state_folder_of_an_earlier_one() {
    let scene = jobs();
    let line = format!("umask 000; exec '{}' {}", env!("CARGO_BIN_EXE_solocron"), RUN.join(" "));
    for _ in 0..2 {
        let mut command = std::process::Command::new("sh");
        let mut replica = Program::start(scene.equip(&mut command).args(["-c", &line]));
        replica.wait_for_event("run ended");
        replica.signal(Signal::SIGKILL);
        replica.wait_until_all_gone();
    }
}

#[test]
fn root_keeps_nothing_in_a_state_folder_that_others_may_change() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    fs::create_dir_all(scene.path("outer/state/runs/spy")).expect("a writable folder");
    let folder = scene.path("outer/state").display().to_string();
    let refused = |what: &str| {
        let said = refusal(&scene, &[&RUN[..], &["--state-dir", &folder]].concat(), 1);
        assert!(said.contains(what) && said.contains("--state-dir"), "{what}: {said}");
    };
    set_mode(&scene.path("outer"), 0o777);
    refused("may be written by other users (mode 0777)");
    set_mode(&scene.path("outer"), 0o755);
    chown(scene.path("outer/state/runs/spy"), Some(65_534), None).expect("root may");
    refused("runs/spy belongs to the user `nobody`");
    chown(scene.path("outer/state/runs/spy"), Some(0), None).expect("root may");
    symlink("/root", scene.path("outer/state/runs/planted")).expect("a writable folder");
    refused("runs/planted is a symbolic link");
}

#[test]
fn a_world_writable_volume_is_roots_alone_once_a_replica_of_root_uses_it() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    fs::create_dir(scene.path("state")).expect("a writable folder");
    fs::create_dir(scene.path("state/app")).expect("a writable folder");
    chown(scene.path("state/app"), Some(65_534), None).expect("root may");
    set_mode(&scene.path("state"), 0o777);
    let mut replica = start(&scene, &[]);
    replica.wait_for_event("run ended");
    assert_eq!(mode(&scene.path("state")), 0o755, "and what is none of it is let alone");
}

#[test]
fn a_folder_that_is_for_everybody_is_taken_from_nobody() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    fs::create_dir(scene.path("shared")).expect("a writable folder");
    set_mode(&scene.path("shared"), 0o1777);
    let shared = scene.path("shared").display().to_string();
    let said = refusal(&scene, &[&RUN[..], &["--state-dir", &shared]].concat(), 1);
    assert!(said.contains("shared may be written by other users (mode 1777)"), "{said}");
    assert!(said.contains("name another folder with --state-dir") && !said.contains("chmod"), "{said}");
    assert_eq!(mode(&scene.path("shared")), 0o1777);
}

#[test]
fn a_jobs_toml_that_was_found_is_obeyed_only_where_nobody_else_can_put_one() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    set_mode(&scene.path(""), 0o777);
    let said = refusal(&scene, &["status"], 78);
    assert!(
        said.contains("may be written by other users (mode 0777)") && said.contains("--config"),
        "{said}"
    );
    set_mode(&scene.path(""), 0o755);
    // A link to a file of root's, of which another user has chosen what it says: such as /proc/PID/environ.
    fs::remove_file(scene.path("jobs.toml")).expect("it is there");
    symlink("/proc/self/environ", scene.path("jobs.toml")).expect("a writable folder");
    let said = refusal(&scene, &["check"], 78);
    assert!(said.contains("jobs.toml is not a regular file"), "{said}");
    fs::remove_file(scene.path("jobs.toml")).expect("it is there");
    symlink("/etc/hostname", scene.path("jobs.toml")).expect("a writable folder");
    std::os::unix::fs::lchown(scene.path("jobs.toml"), Some(65_534), None).expect("root may");
    let said = refusal(&scene, &["check"], 78);
    assert!(said.contains("jobs.toml belongs to the user `nobody`"), "{said}");
    // Nobody writes to it.
    fs::remove_file(scene.path("jobs.toml")).expect("it is there");
    crate::process::make_fifo(&scene.path("jobs.toml"));
    let said = refusal(&scene, &["status"], 78);
    assert!(said.contains("jobs.toml is not a regular file"), "{said}");
}

#[test]
fn a_running_replica_refuses_a_jobs_file_that_another_user_put_in_its_place() {
    if !geteuid().is_root() {
        return;
    }
    let scene = jobs();
    let mut replica = start_as("6", &scene, &[], &[]);
    replica.wait_for_event("run ended");
    let theirs = file("", "command = [\"id\"]");
    fs::write(scene.path("theirs.toml"), theirs).expect("a writable folder");
    chown(scene.path("theirs.toml"), Some(65_534), None).expect("root may");
    fs::rename(scene.path("theirs.toml"), scene.path("jobs.toml")).expect("a writable folder");
    let bad =
        replica.wait_for("of the new file", |line| line.contains("jobs.toml belongs to the user `nobody`"));
    assert!(bad.contains("\"WARN\""), "{bad}");
    replica.wait_for_event("run ended");
    assert!(!replica.lines().iter().any(|line| line.contains("uid=6")), "{:#?}", replica.lines());
}
