//! A state folder that cannot be written: a replica does not start without one, and is not silenced by one that fails later.

use std::fs::{Permissions, create_dir, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use crate::diagnoses::as_nobody;
use crate::process::{Program, Scene};
use crate::said::printed;

const JOBS: &str = r#"
cluster = { store = "local" }
[jobs.a]
schedule = "* * * * * *"
command = ["true"]
"#;

#[test]
fn a_replica_whose_state_folder_cannot_be_written_says_so_once_and_ends() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scene = Scene::new(JOBS);
    let folder = scene.path("volume");
    create_dir(&folder).expect("a writable folder");
    let shown = folder.display();
    let expected = |place: &str| {
        format!(
            "error: cannot write to STATE_DIR {shown} (uid 7): {place}Permission denied\n  help: `chown -R 7 {shown}`, or name \
             another folder with --state-dir\n"
        )
    };
    let run = vec!["--state-dir", folder.to_str().expect("text"), "run", "--node", "n"];
    for words in [run.clone(), [run.as_slice(), &["--replicas", "3"]].concat()] {
        let (said, code) = printed(&mut as_nobody(&scene, &words));
        assert_eq!((said, code), (expected(""), 1), "{words:?}");
    }
    // As an earlier replica of root left it.
    chown(&folder, Some(7), None).expect("root may");
    create_dir(folder.join("runs")).expect("a writable folder");
    let (said, code) = printed(&mut as_nobody(&scene, &run));
    assert_eq!((said, code), (expected(&format!("{shown}/runs: ")), 1));
}

#[test]
fn failures_to_write_run_logs_are_logged_once_a_minute_of_each_kind() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scene = Scene::new(JOBS);
    let mut command = as_nobody(&scene, &["run", "--log-format", "json", "--node", "n"]);
    let mut replica = Program::start(&mut command);
    let paths = ["runs/a", "runs.jsonl", "runs.lock"].map(|name| scene.path("state").join(name));
    while !paths.iter().all(|path| path.exists()) {
        replica.wait_for_event("run ended");
    }
    for path in paths {
        chown(&path, Some(0), Some(0)).expect("root may");
        set_permissions(&path, Permissions::from_mode(0o700)).expect("root may");
    }
    let kinds = ["run log cannot be written, output is dropped", "cannot write runs.jsonl"];
    for kind in kinds {
        if !replica.lines().iter().any(|line| line.contains(kind)) {
            replica.wait_for_event(kind);
        }
    }
    for _ in 0..3 {
        replica.wait_for_event("run ended");
    }
    for kind in kinds {
        let warnings: Vec<&String> = replica.lines().iter().filter(|line| line.contains(kind)).collect();
        assert!(warnings.len() == 1 && warnings[0].contains("\"left_out\":0"), "{:#?}", replica.lines());
    }
}

#[test]
fn reload_names_the_socket_or_folder_that_it_cannot_use() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scene = Scene::new(JOBS);
    let folder = scene.path("state/replicas");
    std::fs::create_dir_all(&folder).expect("a writable folder");
    set_permissions(&folder, Permissions::from_mode(0o700)).expect("root may");
    let (said, code) = printed(&mut as_nobody(&scene, &["reload"]));
    assert_eq!(
        (said, code),
        (
            format!(
                "error: replicas cannot be reached: {}: Permission denied (os error 13)\n  help: run this as the user that runs \
                 the replica, or name its folder with --state-dir\n",
                folder.display()
            ),
            1
        )
    );
}
