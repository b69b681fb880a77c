//! What is refused, and what it needs.

use std::process::Command;

use crate::process::{Program, Scene};

/// `exec` in a folder without a file.
fn exec(words: &[&str]) -> (Scene, Command) {
    let scene = Scene::new("");
    std::fs::remove_file(scene.path("jobs.toml")).expect("it was just made");
    let mut command = scene.command(&[&["exec"], words].concat());
    command.env_remove("SOLOCRON_STATE_DIR");
    (scene, command)
}

fn refused(words: &[&str], code: i32) -> String {
    let (_scene, mut command) = exec(words);
    Program::start(&mut command).wait().expect_code(code).log
}

#[test]
fn a_bad_command_line_is_refused_with_what_is_wrong() {
    for (words, said) in [
        (&["--lock", "a"][..], "<CMD>"),
        (&["--", "true"], "--lock <NAME>"),
        (&["--lock", "a b", "--", "true"], "contains ` `"),
        (&["--lock", "a", "true"], "-- <CMD>"),
        (&["--lock", "a", "--lease", "1s", "--", "true"], "at least 5s"),
        (&["--lock", "a", "--wait", "soon", "--", "true"], "--wait"),
        (&["--lock", "a", "--conflict-exit-code", "256", "--", "true"], "0..=255"),
        (&["--lock", "a", "--store", "redi://h/0", "--cluster", "c", "--", "true"], "unknown scheme"),
    ] {
        let log = refused(words, 2);
        assert!(log.contains(said), "{words:?}: {log}");
    }
}

#[test]
fn without_a_file_it_needs_a_store_and_on_several_machines_the_clusters_name() {
    let log = refused(&["--lock", "a", "--", "true"], 78);
    assert!(log.contains("there is no jobs.toml") && log.contains("--cluster NAME --store URL"), "{log}");
    let log = refused(&["--lock", "a", "--store", "redis://127.0.0.1:1/0", "--", "true"], 2);
    assert!(log.contains("--cluster NAME or SOLOCRON_CLUSTER"), "{log}");
}

#[test]
fn a_local_store_needs_neither_file_nor_name_nor_home() {
    let (scene, mut command) = exec(&["--lock", "a", "--", "sh", "-c", "exit 4"]);
    let store = format!("local:{}", scene.path("locks").display());
    command.env("SOLOCRON_STORE", store).env_remove("HOME").env_remove("XDG_STATE_HOME");
    Program::start(&mut command).wait().expect_code(4);
}

#[test]
fn a_bad_file_is_refused_with_its_problems() {
    let (scene, mut command) = exec(&["--lock", "a", "--", "true"]);
    std::fs::write(scene.path("jobs.toml"), "[cluster]\nstore = \"local\"\nnam = \"x\"\n").expect("written");
    let log = Program::start(&mut command).wait().expect_code(78).log;
    assert!(log.contains("did you mean `name`"), "{log}");
}
