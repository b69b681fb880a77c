//! The processes of a run, as their own files and /proc tell of them.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Scene};

/// Between two looks at what cannot be waited for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A job's main process, and its child that has escaped from the group.
pub(crate) struct Victims {
    main: Pid,
    escaped: Pid,
    guard: Pid,
}

impl Victims {
    /// Those that have written down who they are.
    pub(crate) fn of(scene: &Scene) -> Self {
        let main = written(scene, "main");
        let guard = parent_of(main);
        assert!(is_guard_of_a_run(&name_of(guard)));
        Self { main, escaped: written(scene, "escaped"), guard }
    }

    pub(crate) fn guard(&self) -> Pid {
        self.guard
    }

    pub(crate) fn are_dead(&self) -> bool {
        !is_alive(self.main) && !is_alive(self.escaped)
    }

    pub(crate) fn wait_until_dead(&self) {
        eventually("the end of the run's processes", || self.are_dead().then_some(()));
    }
}

/// A process that outlives its job by intent, and not its test.
pub(crate) struct Left(Pid);

impl Left {
    pub(crate) fn of(scene: &Scene) -> Self {
        Self(written(scene, "left"))
    }

    pub(crate) fn is_alive(&self) -> bool {
        is_alive(self.0)
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

/// The process whose id is written in this file.
pub(crate) fn written(scene: &Scene, name: &str) -> Pid {
    let read = || std::fs::read_to_string(scene.path(name)).ok()?.trim().parse().ok();
    Pid::from_raw(eventually(name, read))
}

/// Waits for what nobody announces.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = SystemClock.boot().plus(DEADLINE);
    // Nothing ever comes on it: a wait that ends with its time.
    let (_held, never) = std::sync::mpsc::channel::<()>();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(SystemClock.boot() < deadline, "waited in vain for {what}");
        let _ = never.recv_timeout(LOOK_EVERY);
    }
}

fn stat(pid: Pid) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

/// Whether a process runs; the dead that wait for their parent do not.
pub(crate) fn is_alive(pid: Pid) -> bool {
    stat(pid).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

pub(crate) fn parent_of(pid: Pid) -> Pid {
    Pid::from_raw(stat(pid).expect("it runs")[1].parse().expect("a process id"))
}

pub(crate) fn name_of(pid: Pid) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// The heartbeats of each run, by fence, in seconds since the machine started.
pub(crate) fn heartbeats(scene: &Scene) -> BTreeMap<i64, Vec<f64>> {
    let mut beats: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for line in std::fs::read_to_string(scene.path("beats")).unwrap_or_default().lines() {
        // The last line may be in the making.
        let beat = line.split_once(' ').and_then(|(fence, at)| Some((fence.parse().ok()?, at.parse().ok()?)));
        let Some((fence, at)) = beat else { continue };
        beats.entry(fence).or_default().push(at);
    }
    beats
}

/// Whether it is the name of a guard while its run goes on: with letters for the run.
pub(crate) fn is_guard_of_a_run(name: &str) -> bool {
    name.len() == 15 && name.starts_with("lease-guard") && !name.starts_with("lease-guard-")
}
