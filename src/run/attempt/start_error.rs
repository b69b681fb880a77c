//! Turns the error of a start into a message of ours, with the remedy.

use std::io;

use nix::unistd::geteuid;

use crate::run::error::RunError;
use crate::run::guard::{STEP_CWD, STEP_GUARD, STEP_SHIFT, STEP_SWITCH};

use super::launch::Launch;

/// Returns the error for a command that could not be started. An errno from behind the fork has the step that failed
/// in the bits above. `is_switched`: the command was to run as another user or group than the replica.
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
