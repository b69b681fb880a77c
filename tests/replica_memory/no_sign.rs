//! A run whose sign was deleted while its replica was down, or whose guard was killed with its replica: nothing tells any more
//! whether it continues.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::job::RunId;
use solocron::time::{BootInstant, Clock, SystemClock};

use crate::process::{Program, descendants};
use crate::stage::{LEFT, Stage, at_a_run, history, journal, run_of, start, verdict, wait_until};

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

/// A run whose processes live when its replica is started again, which leaves it to its lease.
struct Left {
    run: RunId,
    replica: Program,
    begun: BootInstant,
    scene: Stage,
    store: String,
}

impl Left {
    /// Kills the replica of a run as `end` does it, and starts it again. Its log gives all of these reasons.
    fn after(jobs: &str, end: impl FnOnce(&Stage, Program), reasons: &[&str]) -> Self {
        let (scene, store, former, run) = at_a_run(jobs);
        assert!(beats(&scene) > 0);
        end(&scene, former);

        let begun = SystemClock.boot();
        let mut replica = start(&scene, &store, &[]);
        let left = replica.wait_for_event(LEFT);
        assert_eq!(run_of(&left), run);
        let why = left["why"].as_str().unwrap_or_default();
        assert!(reasons.iter().all(|reason| why.contains(reason)), "{left}");
        Self { run, replica, begun, scene, store }
    }

    /// Waits for the next run, which starts once the lease is over.
    fn next_run(&mut self) {
        let next = self.replica.wait_for_event("run started");
        assert!(SystemClock.boot().since(self.begun).as_secs() > 15, "{next}");
    }
}

/// The job's lock stays its own after `delete` has deleted the sign.
fn lease_decides_without(delete: impl FnOnce(&Stage)) {
    let end = |scene: &Stage, former: Program| {
        delete(scene);
        former.kill();
    };
    let mut left = Left::after(HIDDEN, end, &["RUN.running", "missing"]);
    assert_eq!(history(&left.scene, &left.store, left.run)[0]["outcome"], "running");
    left.next_run();
    let now = beats(&left.scene);
    left.replica.wait_for_event("run ended");
    assert_eq!(beats(&left.scene), now, "the former run is dead before the next begins");
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
    // All of them at once, as `pkill -9` does: nobody kills what is left.
    let end = |_: &Stage, former: Program| {
        let is_guard = |pid: &Pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("lease-guard"))
        };
        let guards: Vec<Pid> = descendants(former.pid()).into_iter().filter(is_guard).collect();
        assert!(guards.len() >= 2, "the guard and its maker: {guards:?}");
        former.signal(Signal::SIGSTOP);
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            guards.iter().for_each(|guard| kill(*guard, signal).expect("ours"));
        }
        former.kill();
    };
    let mut left = Left::after(SECOND, end, &["its guard was killed"]);
    let lived = beats(&left.scene);
    left.next_run();
    assert!(beats(&left.scene) > lived, "the process without the run's id lives");
    let (scene, run) = (&left.scene, left.run);
    // Its end is noted here, too, once the lease has settled it.
    let line = || journal(scene, run);
    wait_until("the line of the run", || !line().is_empty());
    assert_eq!(verdict(&line()[0]), ("interrupted", "node_lost"));
    wait_until("the sign to be gone", || !scene.path(&format!("state/runs/long/{run}.running")).exists());
}
