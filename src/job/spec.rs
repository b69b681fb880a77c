//! A job as jobs.toml defines it, checked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{JobName, Label, Schedule};

/// One job of jobs.toml with its defaults filled in. Every value is within its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSpec {
    /// Its name: the table's key.
    pub name: JobName,
    /// When it runs.
    pub schedule: Schedule,
    /// What it runs.
    pub command: Command,
    /// Variables added to the command's environment. Values as written: `${…}` is resolved only by the commands that run
    /// the job, when they load it.
    pub env: BTreeMap<String, String>,
    /// Working directory. If absent: the home of `user` (`/` if that cannot be entered), or the replica's own if `user` is
    /// absent or the replica's own.
    pub cwd: Option<PathBuf>,
    /// The user to run as, by name.
    pub user: Option<String>,
    /// The group to run as, by name; the user's own if absent.
    pub group: Option<String>,
    /// How long the lock holds without renewal; at least 5 s.
    pub lease: Duration,
    /// An attempt is stopped after this long.
    pub timeout: Option<Duration>,
    /// The time between SIGTERM and SIGKILL of the whole process tree.
    pub kill_grace: Duration,
    /// What happens at a tick when the previous run has not ended.
    pub overlap: Overlap,
    /// A tick that has not started this long after its instant is missed. If absent: the time until the next tick, at
    /// most an hour.
    pub start_deadline: Option<Duration>,
    /// What happens to missed ticks after an outage.
    pub catch_up: CatchUp,
    /// What happens after a run was interrupted.
    pub on_interrupt: OnInterrupt,
    /// The number of further attempts after a failed one.
    pub retries: u32,
    /// The delay before the first retry; it doubles each time.
    pub retry_delay: Duration,
    /// No process of the job gains privileges, neither by a set-uid bit nor by capabilities of a file.
    pub no_new_privileges: bool,
    /// The number of processes of the job's user at which the job can start no further one. It requires a `user` other
    /// than root and the replica's own.
    pub max_processes: Option<u64>,
    /// The most bytes that are stored of a run's output: its head and its tail.
    pub max_output: u64,
    /// Exit codes that count as success; never empty.
    pub success_codes: Vec<u8>,
    /// Labels that a replica must have to run it.
    pub only_on: Vec<Label>,
    /// Whether it is scheduled.
    pub enabled: bool,
    /// Free text for the reader of the file.
    pub description: Option<String>,
}

/// What a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments, run as is; never empty.
    Argv(Vec<String>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

impl Command {
    /// Returns the program and its arguments.
    pub fn words(&self) -> Vec<OsString> {
        match self {
            Self::Argv(words) => words.iter().map(OsString::from).collect(),
            Self::Shell(line) => vec!["/bin/sh".into(), "-c".into(), line.into()],
        }
    }
}

/// What happens at a tick when the previous run of the job has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overlap {
    /// The tick does not run.
    #[default]
    Skip,
    /// The tick waits until its start deadline.
    Wait,
    /// The previous run is stopped, then the tick runs.
    Replace,
}

/// What happens to ticks that were missed in an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatchUp {
    /// They stay missed.
    #[default]
    None,
    /// The newest one runs once, however late.
    Last,
}

/// What happens after a run was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnInterrupt {
    /// It stays interrupted.
    #[default]
    Skip,
    /// It runs once more, elsewhere if possible.
    Rerun,
}

/// The longest default `start_deadline`.
pub(crate) const MAX_DEFAULT_START_DEADLINE: Duration = Duration::from_secs(3600);

impl JobSpec {
    /// Returns for how long after the end of an interrupted run `tick` may be rerun; the protocol adds a lease. `None`
    /// if the job has no reruns.
    pub fn rerun_deadline(&self, tick: super::Tick) -> Option<Duration> {
        (self.on_interrupt == OnInterrupt::Rerun).then(|| self.start_deadline_of(tick))
    }

    /// Returns how long after its instant `tick` may still start: as configured, or until the next tick, at most an
    /// hour.
    pub fn start_deadline_of(&self, tick: super::Tick) -> Duration {
        self.start_deadline.unwrap_or_else(|| match self.schedule.next_after(tick.instant()) {
            Some(next) => next.instant().since(tick.instant()).min(MAX_DEFAULT_START_DEADLINE),
            None => MAX_DEFAULT_START_DEADLINE,
        })
    }
}
