//! A job of another user. Only root, or who may change users, can start one: without that these tests show that it is refused.

use nix::unistd::{User, geteuid};

use crate::process::{Program, Scene};
use crate::{file, printed, start, start_as};

/// The account that every system has, whose home no system has.
const NOBODY: &str = "nobody";

/// Whether this is not root: then the job must have failed, and say what it needs.
fn needs_root(scene: &Scene) -> bool {
    if geteuid().is_root() {
        return false;
    }
    let mut replica = start(scene, &[]);
    let ended = replica.wait_for_event("run ended");
    assert_eq!((&ended["outcome"], &ended["reason"]), (&"failed".into(), &"spawn_failed".into()), "{ended}");
    true
}

fn scene_of(script: &str) -> Scene {
    Scene::new(&file("", &format!("user = \"{NOBODY}\"\nshell = '''{script}\necho over'''")))
}

#[test]
fn a_job_of_another_user_has_a_clean_environment_in_a_folder_that_it_may_enter() {
    let scene = scene_of("pwd; env | sort");
    if needs_root(&scene) {
        return;
    }
    let variables = [("MY_SECRET", "hunter2"), ("LC_ALL", "C"), ("PATH", "/opt/secret:/usr/bin:/bin")];
    let lines = printed(&mut start(&scene, &variables));
    let user = User::from_name(NOBODY).unwrap().expect("every system has it");
    assert!(!user.dir.exists(), "its home is no folder");
    assert_eq!(lines[0], "/");
    for line in ["LC_ALL=C", "USER=nobody", "LOGNAME=nobody"] {
        assert!(lines.iter().any(|seen| seen == line), "{line}: {lines:#?}");
    }
    let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert!(lines.iter().any(|seen| seen == path), "{lines:#?}");
    assert!(!lines.iter().any(|seen| seen.contains("secret") || seen.contains("hunter2")), "{lines:#?}");
}

#[test]
fn a_job_of_another_user_can_open_its_own_output() {
    let scene = scene_of("echo by name > /dev/stdout; echo by name too > /dev/stderr");
    if needs_root(&scene) {
        return;
    }
    let mut replica = start(&scene, &[]);
    let said = |replica: &mut Program, stream: &str| {
        let output = replica.wait_for_event_of("output", |event| event["stream"] == stream);
        output["line"].clone()
    };
    assert_eq!(said(&mut replica, "out"), "by name");
    assert_eq!(said(&mut replica, "err"), "by name too");
}

#[test]
fn no_capability_survives_a_change_of_user() {
    // As a replica that is not root can be given what it needs to change users.
    let scene = scene_of("grep -E \"^Cap(Inh|Prm|Eff|Amb)\" /proc/self/status");
    if !geteuid().is_root() {
        return assert!(needs_root(&scene));
    }
    let capabilities = "+setuid,+setgid,+kill";
    let flags = [format!("--inh-caps={capabilities}"), format!("--ambient-caps={capabilities}")];
    let mut replica = start_as("2", &scene, &[], &[&flags[0], &flags[1]]);
    let lines = printed(&mut replica);
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for line in lines {
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
}

#[test]
fn a_job_of_another_user_kills_neither_its_guard_nor_its_replica() {
    let parent_of = "cut -d\" \" -f4";
    let script = format!(
        "guard=$PPID; maker=$({parent_of} /proc/$guard/stat); replica=$({parent_of} /proc/$maker/stat); \
         kill -9 $guard $maker $replica"
    );
    let scene = scene_of(&script);
    if needs_root(&scene) {
        return;
    }
    let mut replica = start(&scene, &[]);
    (0..2).for_each(|_| {
        let ended = replica.wait_for_event("run ended");
        assert!(ended["reason"].is_null(), "{ended}");
    });
}
