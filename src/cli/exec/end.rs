//! How `exec` exits, and what it prints if it could not run the command, or had to stop it.

use std::ffi::OsStr;
use std::io;

use crate::cli::args::exec::ExecArgs;
use crate::cli::exec::Task;
use crate::cli::exit::{Exit, Failure};
use crate::job::{JobName, Outcome, Reason};
use crate::lease::Holder;
use crate::run::{Ended, RunError};
use crate::view::text::time_format::{span, utc};

/// Exit codes of a shell for a command that it does not find, and for one that it cannot execute.
const NOT_FOUND: u8 = 127;
const CANNOT_EXECUTE: u8 = 126;

/// Returns the exit code of the command, unless `exec` stopped the command or could not start it.
pub(super) fn how_it_ended(task: &Task, ended: &Ended, signalled: Option<Exit>) -> Result<Exit, Failure> {
    match (ended.verdict.reason, &ended.error) {
        (Some(Reason::LockLost), _) => return Ok(Exit::LockLost),
        (Some(Reason::Shutdown), _) if signalled.is_some() => return Ok(signalled.unwrap_or(Exit::Failed)),
        (_, Some(RunError::Start { source, .. })) => return Err(cannot_start(&task.program, source)),
        (_, Some(error)) => return Err(Failure::failed(error.to_string())),
        _ => {}
    }
    if let (Outcome::TimedOut, Some(timeout)) = (ended.verdict.outcome, task.timeout) {
        let message = format!(
            "job `{}` was stopped: it did not end within its `timeout` of {}",
            task.lock,
            span(timeout)
        );
        return Err(Failure::new(ended.signal.map_or(Exit::Failed, Exit::by_signal), message));
    }
    match (ended.exit_code.map(u8::try_from), ended.signal) {
        (Some(Ok(code)), _) => Ok(Exit::AsCommand(code)),
        (_, Some(signal)) => Ok(Exit::by_signal(signal)),
        _ => {
            let message = format!("the command was stopped: {}", ended.verdict);
            Err(Failure::failed(message))
        }
    }
}

/// Returns the failure for a command that cannot be started, with the exit code of a shell.
pub(super) fn cannot_start(program: &OsStr, error: &io::Error) -> Failure {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_EXECUTE };
    let program = program.to_string_lossy();
    let help = match (code, program.contains('/')) {
        (NOT_FOUND, false) => "it is not in PATH, which is short in a crontab: give its full path",
        (NOT_FOUND, true) => "check the path, and the interpreter in the file's first line",
        _ => "make it executable for this user",
    };
    Failure::new(Exit::AsCommand(code), format!("cannot start `{program}`: {error}\n  help: {help}"))
}

/// Returns the failure for a lock that another holder has.
pub(super) fn conflict(args: &ExecArgs, lock: &JobName, holder: Option<&Holder>) -> Failure {
    let waited = args.wait.filter(|wait| !wait.is_zero());
    let (still, after) = match waited {
        Some(wait) => (" still", format!(" after {}", span(wait))),
        None => ("", String::new()),
    };
    let message = match holder {
        Some(Holder { node, run, since }) => {
            format!("lock `{lock}` is{still} held by {node}{after}, since {} UTC (run {run})", utc(*since))
        }
        None => format!("lock `{lock}` is{still} not free{after}: its last holder may still be running"),
    };
    let help = match waited {
        None => "\n  help: `--wait 10m` waits for it",
        Some(_) => "",
    };
    Failure::new(Exit::Conflict(args.conflict_exit_code), message + help)
}

/// Returns the failure for a record that this release cannot read.
pub(super) fn newer(lock: &JobName, schema: u32) -> Failure {
    let message = format!(
        "the record of lock `{lock}` was written by a newer release (schema {schema})\n  help: use that release's solocron"
    );
    Failure::failed(message)
}
