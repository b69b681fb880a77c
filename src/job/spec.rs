//! What one job is: everything jobs.toml says about it, checked.

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
    /// Added to the replica's environment. Values as written: `${…}` is resolved only when a replica runs it.
    pub env: BTreeMap<String, String>,
    /// Working directory; the replica's own if absent.
    pub cwd: Option<PathBuf>,
    /// Run as this user, by name.
    pub user: Option<String>,
    /// Run as this group, by name; the user's own if absent.
    pub group: Option<String>,
    /// How long the lock holds without renewal; at least 5 s.
    pub lease: Duration,
    /// Stop an attempt after this long.
    pub timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL of the whole tree.
    pub kill_grace: Duration,
    /// What happens at a tick when the previous run is still going.
    pub overlap: Overlap,
    /// A tick that has not started this long after its instant is missed; until the next tick, at most an hour, if absent.
    pub start_deadline: Option<Duration>,
    /// What happens to missed ticks after an outage.
    pub catch_up: CatchUp,
    /// What happens when a run was cut short by its replica.
    pub on_interrupt: OnInterrupt,
    /// Further attempts after a failed one.
    pub retries: u32,
    /// Before the first retry; doubles each time.
    pub retry_delay: Duration,
    /// Nothing that it starts gains privileges: not by a set-uid bit, nor by capabilities of a file.
    pub no_new_privileges: bool,
    /// The most processes that its user may have where it starts one more; of a job with a user of its own alone.
    pub max_processes: Option<u64>,
    /// What is kept of a run's output, in bytes: its head and its tail.
    pub max_output: u64,
    /// Exit codes that count as success; never empty.
    pub success_codes: Vec<u8>,
    /// Labels a replica must carry to take part.
    pub only_on: Vec<Label>,
    /// Whether it is scheduled at all.
    pub enabled: bool,
    /// For people.
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
    /// The program and its arguments.
    pub fn words(&self) -> Vec<OsString> {
        match self {
            Self::Argv(words) => words.iter().map(OsString::from).collect(),
            Self::Shell(line) => vec!["/bin/sh".into(), "-c".into(), line.into()],
        }
    }
}

/// What happens at a tick when the previous run of the job is still going.
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

/// What happens when a run was cut short by its replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnInterrupt {
    /// It stays interrupted.
    #[default]
    Skip,
    /// It runs once more, elsewhere if possible.
    Rerun,
}

/// No default `start_deadline` is longer than this.
pub(crate) const MAX_DEFAULT_START_DEADLINE: Duration = Duration::from_secs(3600);

impl JobSpec {
    /// How long after its end a run of the tick that was cut short may be run once more; `None` if it is not.
    pub fn reruns_within(&self, tick: super::Tick) -> Option<Duration> {
        (self.on_interrupt == OnInterrupt::Rerun).then(|| self.start_deadline_of(tick))
    }

    /// How long after its instant `tick` may still start: as configured, or until the next tick, at most an hour.
    pub fn start_deadline_of(&self, tick: super::Tick) -> Duration {
        self.start_deadline.unwrap_or_else(|| match self.schedule.next_after(tick.instant()) {
            Some(next) => next.instant().since(tick.instant()).min(MAX_DEFAULT_START_DEADLINE),
            None => MAX_DEFAULT_START_DEADLINE,
        })
    }
}
