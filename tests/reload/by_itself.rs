//! A replica notices by itself that its file is another one.

use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;

use super::process::{Program, Scene};
use super::{BAD, LOADED, file, run_after, said_at, says, write};

fn end(replica: Program) -> String {
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0).log
}

#[test]
fn a_file_that_an_editor_renames_into_place_is_loaded_and_a_bad_one_logged_once() {
    let scene = Scene::new(&file(&[("goes", &says("one"))]));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("run ended");
    write(&scene, &file(&[("comes", &says("two"))]));
    let loaded = replica.wait_for_event(LOADED);
    assert_eq!(loaded["added"], "comes");
    write(&scene, "nonsense = 1\n");
    let bad = replica.wait_for_event(BAD);
    run_after(&mut replica, "comes", said_at(&bad));
    // In place, and the same as what is in effect.
    std::fs::write(scene.path("jobs.toml"), file(&[("comes", &says("two"))])).expect("a writable folder");
    let again = replica.wait_for_event(LOADED);
    assert!(again.get("changed").is_none() && again.get("removed").is_none(), "{again}");
    let log = end(replica);
    assert_eq!(log.matches(BAD).count(), 1, "{log}");
}

#[test]
fn a_config_map_that_is_swapped_is_loaded() {
    let scene = Scene::new("");
    for (version, word) in [("..v1", "one"), ("..v2", "two")] {
        std::fs::create_dir_all(scene.path(&format!("etc/{version}"))).expect("a folder");
        let text = file(&[(word, &says(word))]);
        std::fs::write(scene.path(&format!("etc/{version}/jobs.toml")), text).expect("a writable folder");
    }
    symlink("..v1", scene.path("etc/..data")).expect("a link");
    symlink("..data/jobs.toml", scene.path("etc/jobs.toml")).expect("a link");
    let mut replica = scene.run(&["--config", "etc/jobs.toml"]);
    replica.wait_for_event("run ended");
    symlink("..v2", scene.path("etc/..data_tmp")).expect("a link");
    std::fs::rename(scene.path("etc/..data_tmp"), scene.path("etc/..data")).expect("renamed");
    let loaded = replica.wait_for_event(LOADED);
    assert_eq!((&loaded["added"], &loaded["removed"]), (&"two".into(), &"one".into()));
    end(replica);
}
