//! The processes of one campaign, found by its folder in their environment.

use std::collections::BTreeMap;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable whose value, the campaign's folder, marks its programs and their guards. No job inherits it.
pub(crate) const MARK: &str = "SOLOCRON_TEST_CAMPAIGN";

/// The variable, with the same value, that marks its jobs: jobs.toml has it.
pub(crate) const JOB_MARK: &str = "CAMPAIGN_FOLDER";

/// What a guard calls itself.
const GUARD: &str = "lease-guard";

/// Where the scheduling policy is among the fields of `/proc/PID/stat` that follow the name, and the lowest.
const POLICY: usize = 38;
const SCHED_IDLE: &str = "5";

/// A process.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) parent: Pid,
    pub(crate) name: String,
    /// The run that it belongs to, by its environment.
    pub(crate) run: Option<String>,
    /// The replica that it belongs to, by its environment.
    pub(crate) node: Option<String>,
}

/// Every process with a mark of this campaign.
pub(crate) fn of_campaign(folder: &Path) -> Vec<Process> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| read(pid, folder))
        .collect()
}

fn read(pid: i32, folder: &Path) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let (state, parent) = (*fields.first()?, fields.get(1)?.parse().ok()?);
    // Nothing here has the lowest priority: who reads the environment of something else that has it may wait for it, while every core is
    // busy.
    if state == "Z" || fields.get(POLICY) == Some(&SCHED_IDLE) {
        return None;
    }
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let env: BTreeMap<String, String> = environ
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let is_marked = [MARK, JOB_MARK].iter().any(|mark| env.get(*mark).map(Path::new) == Some(folder));
    if !is_marked {
        return None;
    }
    Some(Process {
        pid: Pid::from_raw(pid),
        parent: Pid::from_raw(parent),
        name: head.split_once('(')?.1.to_owned(),
        run: env.get("SOLOCRON_RUN").cloned(),
        node: env.get("SOLOCRON_NODE").cloned(),
    })
}

/// While its run goes on, letters that stand for the run follow.
fn is_guard_of_a_run(name: &str) -> bool {
    name.strip_prefix(GUARD).is_some_and(|rest| !rest.starts_with('-') && rest != "s")
}

/// The guards of a replica's runs: the parents of their main processes.
pub(crate) fn guards(folder: &Path, node: &str) -> Vec<Pid> {
    let all = of_campaign(folder);
    let is_guard = |pid: Pid| all.iter().any(|it| it.pid == pid && is_guard_of_a_run(&it.name));
    let mut guards: Vec<Pid> = all
        .iter()
        .filter(|process| process.run.is_some() && process.node.as_deref() == Some(node))
        .map(|process| process.parent)
        .filter(|parent| is_guard(*parent))
        .collect();
    guards.sort();
    guards.dedup();
    guards
}

/// Sends a signal to each; those that have gone meanwhile are left alone.
pub(crate) fn signal_all(pids: &[Pid], signal: Signal) {
    for pid in pids {
        // An error says that it is gone already.
        let _ = kill(*pid, signal);
    }
}

/// Kills everything of a campaign.
pub(crate) fn kill_all(folder: &Path) {
    let pids: Vec<Pid> = of_campaign(folder).iter().map(|process| process.pid).collect();
    signal_all(&pids, Signal::SIGKILL);
}
