//! Why a command could not be started, in our words, with the way out.

use std::io;

use nix::unistd::geteuid;

use crate::run::error::RunError;
use crate::run::guard::{STEP_CWD, STEP_GUARD, STEP_SHIFT, STEP_SWITCH};

use super::launch::Launch;

/// What the system said when the command could not be started. An error that came from behind the fork holds the step it
/// happened in. `is_switched`: it was to run as somebody else than the replica.
pub(super) fn start_error(launch: &Launch, is_switched: bool, source: io::Error) -> RunError {
    let job = launch.identity.job.clone();
    let code = source.raw_os_error().unwrap_or(0);
    let plain = io::Error::from_raw_os_error(code & ((1 << STEP_SHIFT) - 1));
    match (code >> STEP_SHIFT, &launch.cwd) {
        (STEP_SWITCH, _) => RunError::Switch { job, who: who(launch), own: geteuid(), source: plain },
        (STEP_CWD, Some(cwd)) => RunError::Cwd { job, cwd: cwd.clone(), source: plain },
        (STEP_GUARD, _) => RunError::Guard { job, source: plain },
        _ => {
            let program = launch.command[0].to_string_lossy().into_owned();
            let help = way_out(&source, program.contains('/'), is_switched);
            RunError::Start { job, program, source, help }
        }
    }
}

fn who(launch: &Launch) -> String {
    match (&launch.user, &launch.group) {
        (Some(user), None) => format!("user `{user}`"),
        (Some(user), Some(group)) => format!("user `{user}` and group `{group}`"),
        (None, group) => format!("group `{}`", group.as_deref().unwrap_or_default()),
    }
}

fn way_out(error: &io::Error, has_path: bool, switched: bool) -> &'static str {
    match (error.kind(), has_path, switched) {
        (io::ErrorKind::NotFound, false, _) => "it is not in PATH: give its full path, or set PATH in `env`",
        (io::ErrorKind::NotFound, true, _) => "check the path, and the interpreter in the file's first line",
        (io::ErrorKind::PermissionDenied, false, _) => {
            "in no folder of PATH it is there and executable, or some cannot be searched: give its full path, or set PATH \
             in `env`"
        }
        (io::ErrorKind::PermissionDenied, true, false) => "make it executable for the replica's user",
        (io::ErrorKind::PermissionDenied, true, true) => "make it executable for the job's `user`",
        _ => "check `command`, and the limits of the replica (processes, memory, open files)",
    }
}
