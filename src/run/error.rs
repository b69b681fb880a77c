//! Errors of starting a command, or of recording its run. Every message names the job or the file, the value, and the
//! remedy.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::unistd::Uid;

use crate::job::JobName;

/// An error around a run, other than a failure of the command itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user or group does not exist on this machine.
    #[error("job `{job}`: {kind} `{name}` does not exist on this machine; create it, or change `{kind}`")]
    UnknownAccount {
        /// The job that names it.
        job: JobName,
        /// The key that names it: `user` or `group`.
        kind: &'static str,
        /// The name that was looked up.
        name: String,
    },
    /// The user or group cannot be looked up.
    #[error(
        "job `{job}`: {kind} `{name}` cannot be looked up: {source}; check /etc/nsswitch.conf and its services"
    )]
    Lookup {
        /// The job that names it.
        job: JobName,
        /// The key that names it: `user` or `group`.
        kind: &'static str,
        /// The name that was looked up.
        name: String,
        /// The error of the lookup.
        source: Errno,
    },
    /// The system does not let the replica become that user or group.
    #[error(
        "job `{job}`: cannot run as {who}: {source}; start the replica as root or as that user (it runs as uid {own}), \
         or take `user` and `group` out"
    )]
    Switch {
        /// The job.
        job: JobName,
        /// User and group as jobs.toml names them.
        who: String,
        /// The replica's own user.
        own: Uid,
        /// The error of the system call.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("job `{job}`: cannot enter cwd `{}`: {source}; create it, make it accessible, or change `cwd`", cwd.display())]
    Cwd {
        /// The job.
        job: JobName,
        /// Its `cwd`.
        cwd: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("job `{job}`: cannot start `{program}`: {source}; {help}")]
    Start {
        /// The job.
        job: JobName,
        /// The first word of its command.
        program: String,
        /// The error of the system call.
        source: io::Error,
        /// The remedy, as shown in the message.
        help: &'static str,
    },
    /// The guard of the run cannot be made; nothing is started without it.
    #[error(
        "job `{job}`: no guard for its run: {source}; check the limits of the replica (processes, memory, open files)"
    )]
    Guard {
        /// The job.
        job: JobName,
        /// The error of the system call.
        source: io::Error,
    },
    /// A file of the state directory cannot be read or written.
    #[error("`{}`: {source}; check the space, the owner and the mode of the state directory", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// Another process holds the lock of the journal for longer than a write takes.
    #[error("`{}` is held by another process for over {seconds} s; look for a replica that hangs", path.display())]
    JournalHeld {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited, in seconds.
        seconds: u64,
    },
}

impl RunError {
    /// Returns an I/O error together with the file in which it occurred.
    pub(super) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}
