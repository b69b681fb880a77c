//! A run whose sign was deleted while its replica was down, or whose guard was killed with its replica: nothing tells any more
//! whether it continues.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::clock::{Clock, SystemClock};

use crate::process::{Program, descendants};
use crate::stage::{Stage, history, journal, run_of, start, verdict, wait_until};

/// A job that ignores SIGTERM, without its run's id in its environment: only its guard finds it. It tells that it lives.
const HIDDEN: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.long]
schedule = "*/2 * * * * *"
lease = "30s"
shell = '[ -e beats ] || exec env -i sh -c "trap : TERM; while :; do date +%s.%N >> beats; sleep 0.05; done"'
"#;

fn beats(scene: &Stage) -> usize {
    std::fs::read_to_string(scene.path("beats")).map(|text| text.lines().count()).unwrap_or_default()
}

/// The job's lock stays its own after `delete` has deleted the sign.
fn lease_decides_without(delete: impl FnOnce(&Stage)) {
    let scene = Stage::new(HIDDEN);
    let store = format!("local:{}", scene.path("store.db").display());
    let mut former = start(&scene, &store, &[]);
    let run = run_of(&former.wait_for_event("run started"));
    former.wait_for_event("lock renewed");
    assert!(beats(&scene) > 0);
    delete(&scene);
    former.signal(Signal::SIGKILL);

    let begun = SystemClock.boot();
    let mut replica: Program = start(&scene, &store, &[]);
    let left = replica.wait_for_event(
        "run from before the restart may still be running: the job starts again when its lease has ended",
    );

    assert_eq!(run_of(&left), run);
    let why = left["why"].as_str().unwrap_or_default();
    assert!(why.contains("RUN.running") && why.contains("missing"), "{left}");
    assert_eq!(history(&scene, &store, run)[0]["outcome"], "running");
    let next = replica.wait_for_event("run started");
    assert!(SystemClock.boot().since(begun).as_secs() > 15, "{next}");
    let now = beats(&scene);
    replica.wait_for_event("run ended");
    assert_eq!(beats(&scene), now, "the former run is dead before the next begins");
    drop(former);
}

#[test]
fn a_run_without_its_folder_of_signs_is_left_to_its_lease() {
    lease_decides_without(|scene| std::fs::remove_dir_all(scene.path("state/runs")).expect("ours"));
}

#[test]
fn so_is_a_run_that_has_deleted_its_own_sign() {
    lease_decides_without(|scene| {
        for file in std::fs::read_dir(scene.path("state/runs/long")).expect("a folder").flatten() {
            if file.path().extension().is_some_and(|extension| extension == "running") {
                std::fs::remove_file(file.path()).expect("ours");
            }
        }
    });
}

/// A job whose second process ignores SIGTERM, without its run's id in its environment, for as long as the test's folder is there.
const SECOND: &str = r#"
cluster = { name = "test", store = "local" }
[jobs.long]
schedule = "*/2 * * * * *"
lease = "30s"
shell = """
[ -e beats ] && exit
env -i sh -c 'trap : TERM; while [ -e jobs.toml ]; do date +%s.%N >> beats; sleep 0.05; done' &
wait
"""
"#;

#[test]
fn a_run_whose_guard_was_killed_with_its_replica_is_left_to_its_lease() {
    let scene = Stage::new(SECOND);
    let store = format!("local:{}", scene.path("store.db").display());
    let mut former = start(&scene, &store, &[]);
    let run = run_of(&former.wait_for_event("run started"));
    former.wait_for_event("lock renewed");
    assert!(beats(&scene) > 0);
    // All of them at once, as `pkill -9` does: nobody kills what is left.
    let is_guard = |pid: &Pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("lease-guard"))
    };
    let guards: Vec<Pid> = descendants(former.pid()).into_iter().filter(is_guard).collect();
    assert!(guards.len() >= 2, "the guard and its maker: {guards:?}");
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        former.signal(signal);
        guards.iter().for_each(|guard| kill(*guard, signal).expect("ours"));
    }

    let begun = SystemClock.boot();
    let mut replica: Program = start(&scene, &store, &[]);
    let left = replica.wait_for_event(
        "run from before the restart may still be running: the job starts again when its lease has ended",
    );

    assert_eq!(run_of(&left), run);
    let why = left["why"].as_str().unwrap_or_default();
    assert!(why.contains("its guard was killed"), "{left}");
    let lived = beats(&scene);
    let next = replica.wait_for_event("run started");
    assert!(beats(&scene) > lived, "the process without the run's id lives");
    assert!(SystemClock.boot().since(begun).as_secs() > 15, "{next}");
    // Its end is noted here, too, once the lease has settled it.
    let line = || journal(&scene, run);
    wait_until("the line of the run", || !line().is_empty());
    assert_eq!(verdict(&line()[0]), ("interrupted", "node_lost"));
    wait_until("the sign to be gone", || !scene.path(&format!("state/runs/long/{run}.running")).exists());
    drop(former);
}
