//! The command line of scripts that use the cluster's locks without being its jobs.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::session::target::PlaceArgs;
use crate::config::MIN_LEASE;
use crate::job::{JobName, NodeName, format_duration};

use super::global::duration;

/// Commands of scripts.
#[derive(Debug, Subcommand)]
pub enum Locking {
    /// Run one command, or a job of the file, under a lock
    #[command(
        override_usage = "solocron exec [OPTIONS] --lock <NAME> -- <CMD>...\n       \
        solocron exec [OPTIONS] --job <JOB> [--dry-run]",
        after_help = "The lock of a job's name is that job's: the two exclude each other. Any other name will do as well. \
        The command has this terminal's input and output, and sees SOLOCRON_FENCE and the other variables of a job. The lock \
        is renewed while it runs. When it is lost, the command is stopped with everything that it started, before anybody \
        else may start. SIGTERM and SIGINT stop it in order (SIGTERM, after 10s SIGKILL).\n\n\
        --job runs a job once, as a replica on this machine would start it: with its lease, timeout, kill_grace, user, group, \
        cwd and env. A job without `user` inherits this shell's environment and folder. Its output is shown here, and not kept. \
        A job that is paused, disabled or `only_on` other replicas runs as well. There is one attempt, whatever `retries` says.\n\n\
        A run under a job's name is in the job's history, with the cause `manual` and without output. The job's scheduled ticks \
        are not affected.\n\n\
        Without --wait, exec exits at once where the lock is taken. If the last holder crashed, exec waits up to one lease until \
        the lock is certainly free; the first use of a name takes two seconds. Waits longer than a second are reported on stderr, \
        unless --conflict-exit-code is 0. A store that does not answer is given two seconds, or as long as --wait says.\n\n\
        Inside a job or another `exec` that holds the same lock, the command runs at once under that lock.\n\n\
        Exit codes: as the command (128+n for signal n; 127 not found, 126 cannot be started), 1 another error, 2 usage or \
        unknown job, 69 store unreachable, 70 lock lost, 75 held by another, 78 no usable [cluster].\n\n\
        Examples:\n  \
        solocron exec --lock backup --wait 10m -- /usr/local/bin/backup\n  \
        solocron exec --job nightly-backup --dry-run"
    )]
    Exec(ExecArgs),
}

/// Flags of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Run CMD under this lock: the name of a job, or any other
    #[arg(long, value_name = "NAME", required_unless_present = "job", conflicts_with = "job")]
    pub lock: Option<JobName>,
    /// Run this job of the file, here and now, under its own lock
    #[arg(long, value_name = "JOB", conflicts_with_all = ["lease", "command"])]
    pub job: Option<JobName>,
    /// Show what --job would run, and run nothing: command, user, group, folder, and the names of its variables
    #[arg(long, requires = "job", conflicts_with = "lock")]
    pub dry_run: bool,
    /// Wait this long for a lock that is held [default: not at all]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Duration>,
    /// How long the lock holds without renewal; longer than your Redis failover takes [default: 30s; with --job, the job's]
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    pub lease: Option<Duration>,
    /// Exit with this code when the lock is held by another; with 0, print nothing then
    #[arg(long, value_name = "N", default_value_t = 75)]
    pub conflict_exit_code: u8,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// What `status` and `history` call this machine [default: host name]
    #[arg(long, value_name = "NAME", env = "SOLOCRON_NODE")]
    pub node: Option<NodeName>,
    /// The program and its arguments
    #[arg(value_name = "CMD", last = true, required_unless_present = "job")]
    pub command: Vec<OsString>,
}

/// What `exec` runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// A command under this lock: the program and its arguments.
    Command(&'a JobName, &'a [OsString]),
    /// This job of the file.
    Job(&'a JobName),
}

impl ExecArgs {
    /// Returns what `exec` runs.
    pub(crate) fn target(&self) -> Target<'_> {
        match (&self.job, &self.lock) {
            (Some(job), _) => Target::Job(job),
            (None, Some(lock)) => Target::Command(lock, &self.command),
            (None, None) => unreachable!("one of the two is required"),
        }
    }
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = duration(text)?;
    if lease < MIN_LEASE {
        return Err(format!(
            "it must be at least {}, as it is renewed every lease/6",
            format_duration(MIN_LEASE)
        ));
    }
    Ok(lease)
}
