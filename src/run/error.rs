//! Why a command could not be started, or its run not be noted. Every message names the job or the file, the value, and
//! the way out.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::unistd::Uid;

use crate::job::JobName;

/// What can go wrong around a run besides the command itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system knows no such user or group.
    #[error("job `{job}`: {kind} `{name}` does not exist on this machine; create it, or change `{kind}`")]
    UnknownAccount {
        /// The job that names it.
        job: JobName,
        /// The key that names it: `user` or `group`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The system could not say whether there is such a user or group.
    #[error(
        "job `{job}`: {kind} `{name}` cannot be looked up: {source}; check /etc/nsswitch.conf and its services"
    )]
    Lookup {
        /// The job that names it.
        job: JobName,
        /// The key that names it: `user` or `group`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What the system said.
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
        /// What the system said.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("job `{job}`: cannot enter cwd `{}`: {source}; create it, make it accessible, or change `cwd`", cwd.display())]
    Cwd {
        /// The job.
        job: JobName,
        /// Its `cwd`.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("job `{job}`: cannot start `{program}`: {source}; {help}")]
    Start {
        /// The job.
        job: JobName,
        /// The first word of its command.
        program: String,
        /// What the system said.
        source: io::Error,
        /// The way out.
        help: &'static str,
    },
    /// The process that watches over the run cannot be made, and nothing is started without it.
    #[error(
        "job `{job}`: no guard for its run: {source}; check the limits of the replica (processes, memory, open files)"
    )]
    Guard {
        /// The job.
        job: JobName,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the state directory cannot be read or written.
    #[error("`{}`: {source}; check the space, the owner and the mode of the state directory", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another replica holds the lock of the journal for longer than a write takes.
    #[error("`{}` is held by another process for over {seconds} s; look for a replica that hangs", path.display())]
    JournalHeld {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
}

impl RunError {
    /// An I/O error with the file it happened to.
    pub(super) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}
