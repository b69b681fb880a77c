//! What to start, and for which run. A launch is complete: starting it needs nothing more from jobs.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::job::{Cause, Fence, JobName, JobSpec, NodeName, RunId, Tick};
use crate::lease::{Lease, Pace};

use super::state::Limits;

/// Everything that an attempt needs; built by the replica or by `exec`.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program and its arguments; never empty.
    pub command: Vec<OsString>,
    /// The job's own variables, with `${…}` resolved.
    pub env: BTreeMap<String, String>,
    /// Names of the replica's variables that reach the job only through its own `env`: those that jobs.toml refers to
    /// by `${NAME}`.
    pub withheld: Arc<BTreeSet<String>>,
    /// Working directory. If `None`: the replica's own; for another user its home, or `/` if it may not enter that.
    pub cwd: Option<PathBuf>,
    /// Run as this user, by name.
    pub user: Option<String>,
    /// Run as this group, by name; `None` for the user's own.
    pub group: Option<String>,
    /// Whether nothing that it starts can gain privileges.
    pub no_new_privileges: bool,
    /// The most processes that its user may have when it starts another.
    pub max_processes: Option<u64>,
    /// The most bytes of the run's output that are stored.
    pub max_output: u64,
    /// Exit codes that count as success.
    pub success_codes: Vec<u8>,
    /// Stop the attempt after this long.
    pub timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL when the timeout has passed; every other stop order brings its own grace.
    pub kill_grace: Duration,
    /// Between SIGTERM and SIGKILL when the lock is lost, or the replica is gone.
    pub loss_grace: Duration,
    /// Where its standard streams lead.
    pub streams: Streams,
    /// Which attempt of which run this is.
    pub identity: Identity,
}

/// Where the standard streams of a command lead.
#[derive(Debug, Clone, Default)]
pub enum Streams {
    /// No input; the output is stored.
    #[default]
    Kept,
    /// No input; the output goes to these: stdout and stderr.
    Handed(Arc<[OwnedFd; 2]>),
    /// The streams of the calling process, its terminal included.
    Inherited,
}

impl Streams {
    /// Whether the command shares the streams of its caller, and with them its session and environment.
    pub(crate) fn are_the_callers(&self) -> bool {
        matches!(self, Self::Inherited)
    }
}

/// Which attempt of which run of which tick; the job sees it as `SOLOCRON_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The job.
    pub job: JobName,
    /// Its tick.
    pub tick: Tick,
    /// The tick in the job's time zone, RFC 3339.
    pub tick_local: String,
    /// The run's fencing token.
    pub fence: Fence,
    /// The run; its attempts share it.
    pub run: RunId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Why the run was started.
    pub cause: Cause,
    /// The replica it runs on.
    pub node: NodeName,
}

impl Identity {
    /// Returns the identity of the first attempt of the run that holds this lock.
    pub fn of(job: &JobName, lease: &Lease, tick_local: String) -> Self {
        Self {
            job: job.clone(),
            tick: lease.tick,
            tick_local,
            fence: lease.fence,
            run: lease.run,
            attempt: 1,
            cause: lease.cause,
            node: lease.node.clone(),
        }
    }
}

impl Launch {
    /// Returns the launch of `spec`. `env` is the job's `env` with all variables resolved; `withheld` names the
    /// replica's variables that the job gets only through `env`.
    pub fn new(
        spec: &JobSpec,
        env: BTreeMap<String, String>,
        withheld: Arc<BTreeSet<String>>,
        identity: Identity,
    ) -> Self {
        Self {
            command: spec.command.words(),
            env,
            withheld,
            cwd: spec.cwd.clone(),
            user: spec.user.clone(),
            group: spec.group.clone(),
            no_new_privileges: spec.no_new_privileges,
            max_processes: spec.max_processes,
            max_output: spec.max_output,
            success_codes: spec.success_codes.clone(),
            timeout: spec.timeout,
            kill_grace: spec.kill_grace,
            loss_grace: Pace::new(spec.lease, spec.kill_grace).loss_grace(),
            streams: Streams::Kept,
            identity,
        }
    }

    /// Returns the limits by which the attempt is stopped and judged.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            timeout: self.timeout,
            kill_grace: self.kill_grace,
            loss_grace: self.loss_grace,
            success_codes: self.success_codes.clone(),
        }
    }
}
