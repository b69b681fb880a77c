//! The command line of scripts that use the cluster's locks without being its jobs.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::config::MIN_LEASE;
use crate::job::{ClusterName, JobName, NodeName, format_duration};

use super::args::duration;

/// Commands of scripts.
#[derive(Debug, Subcommand)]
pub enum Locking {
    /// Run one command under a lock, for crontabs and scripts
    #[command(
        after_help = "The lock of a job's name is that job's: the two exclude each other. Any other name will do as well. \
        The command has this terminal's input and output, and sees SOLOCRON_FENCE and the other variables of a job. The lock \
        is renewed while it runs. When it is lost, the command is stopped with everything that it started, before anybody \
        else may start. SIGTERM and SIGINT stop it in order (SIGTERM, after 10s SIGKILL).\n\n\
        Without --wait, exec exits at once where the lock is taken. If the last holder crashed, exec waits up to one lease until \
        the lock is certainly free; the first use of a name takes two seconds. What takes longer than a second is told on stderr, \
        unless --conflict-exit-code is 0. A store that does not answer is given two seconds, or as long as --wait says.\n\n\
        Within a job, or another `exec`, that holds the same lock, the command runs at once under that.\n\n\
        Exit codes: as the command (128+n for signal n; 127 not found, 126 cannot be started), 2 usage, 69 store \
        unreachable, 70 lock lost, 75 held by another, 78 bad jobs.toml.\n\n\
        Example: solocron exec --lock backup --wait 10m -- /usr/local/bin/backup"
    )]
    Exec(ExecArgs),
}

/// Flags of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The lock; the name of a job, or any other
    #[arg(long, value_name = "NAME")]
    pub lock: JobName,
    /// Wait this long for a lock that somebody holds [default: not at all]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Duration>,
    /// How long the lock holds without renewal; longer than your Redis failover takes
    #[arg(long, value_name = "DURATION", value_parser = lease, default_value = "30s")]
    pub lease: Duration,
    /// Exit with this code when the lock is held by another; with 0, print nothing then
    #[arg(long, value_name = "N", default_value_t = 75)]
    pub conflict_exit_code: u8,
    /// The cluster; with --store, no file is read [default: the file's `name`]
    #[arg(long, value_name = "NAME", env = "SOLOCRON_CLUSTER")]
    pub cluster: Option<ClusterName>,
    /// What `status` and `history` call this machine [default: host name]
    #[arg(long, value_name = "NAME", env = "SOLOCRON_NODE")]
    pub node: Option<NodeName>,
    /// The program and its arguments
    #[arg(value_name = "CMD", last = true, required = true)]
    pub command: Vec<OsString>,
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
