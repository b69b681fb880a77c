//! Where replicas are killed and started again, and what is left of them afterwards: runs, entries, lines.

use std::ops::Deref;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use solocron::job::RunId;
use solocron::run::processes_of;
use solocron::time::{Clock, SystemClock};

use crate::process::{Program, Scene};

/// What a replica logs of a run of its former life of which it does not know whether it continues.
pub(crate) const LEFT: &str =
    "run from before the restart may still be running: the job starts again when its lease has ended";

/// The processes of a run.
pub(crate) fn alive(run: RunId) -> Vec<Pid> {
    processes_of(run).expect("they can be looked for")
}

/// A scene that ends what jobs of killed replicas leave behind: they have its state folder in their environment.
pub(crate) struct Stage(Scene);

impl Stage {
    pub(crate) fn new(jobs: &str) -> Self {
        Self(Scene::new(jobs))
    }
}

impl Deref for Stage {
    type Target = Scene;
    fn deref(&self) -> &Scene {
        &self.0
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let variable = format!("SOLOCRON_STATE_DIR={}", self.path("state").display());
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let is_ours = environment.split(|&byte| byte == 0).any(|one| one == variable.as_bytes());
            let id = process.file_name().to_str().and_then(|id| id.parse().ok());
            if let Some(id) = id.filter(|_| is_ours) {
                // It may have ended meanwhile.
                let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
    }
}

pub(crate) fn start(scene: &Scene, store: &str, more: &[&str]) -> Program {
    scene.run(&[&["--store", store, "--log-level", "debug"], more].concat())
}

/// A replica at its run, with a store that does not lie in its folder.
pub(crate) fn at_a_run(jobs: &str) -> (Stage, String, Program, RunId) {
    let scene = Stage::new(jobs);
    let store = format!("local:{}", scene.path("store.db").display());
    let mut replica = start(&scene, &store, &[]);
    let run = run_of(&replica.wait_for_event("run started"));
    replica.wait_for_event("lock renewed");
    (scene, store, replica, run)
}

pub(crate) fn run_of(event: &Value) -> RunId {
    event["run"].as_str().and_then(|run| run.parse().ok()).unwrap_or_else(|| panic!("no run in {event}"))
}

/// Waits until it is so, for no longer than a minute.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = SystemClock.boot().plus(Duration::from_secs(60));
    while !is_so() {
        assert!(SystemClock.boot() < deadline, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// The entries of a run in the history of all replicas.
pub(crate) fn history(scene: &Scene, store: &str, run: RunId) -> Vec<Value> {
    let output =
        scene.command(&["--store", store, "history", "--format", "json"]).output().expect("a program");
    let entries: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    entries.into_iter().filter(|entry| entry["run"] == run.to_string()).collect()
}

/// The lines about a run in the journal of this node.
pub(crate) fn journal(scene: &Scene, run: RunId) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.path("state/runs.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["run"] == run.to_string()).collect()
}

pub(crate) fn verdict(entry: &Value) -> (&str, &str) {
    (entry["outcome"].as_str().unwrap_or_default(), entry["reason"].as_str().unwrap_or_default())
}

/// Stops a replica and its runs at once; what it said comes back.
pub(crate) fn stop(mut replica: Program) -> String {
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("draining: taking no new ticks");
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0).log
}
