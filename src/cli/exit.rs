//! The exit codes of the contract.

use std::process::ExitCode;

use crate::operate::OperateError;
use crate::store::{Store, StoreError};
use crate::view::text::TimeError;

/// Help text for a store that does not answer for an unknown reason.
pub(super) const UNREACHABLE: &str = "check that it is up and that this machine may connect, or name another one with --store or SOLOCRON_STORE";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// Failed, or something is wrong.
    Failed,
    /// Wrong usage, or an unknown job.
    Usage,
    /// A manual run was skipped.
    Skipped,
    /// The lock of a command was lost, and the command was stopped.
    LockLost,
    /// Another holder has the lock of a command; the caller may choose the code.
    Conflict(u8),
    /// The exit code of a command that ran or was followed.
    AsCommand(u8),
    /// The store cannot be reached.
    StoreUnreachable,
    /// jobs.toml is invalid.
    BadConfig,
}

impl Exit {
    /// Returns the exit code that a shell has for a command that this signal ended.
    pub(crate) fn by_signal(number: i32) -> Self {
        Self::AsCommand(u8::try_from(128 + number).unwrap_or(u8::MAX))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::AsCommand(code) | Exit::Conflict(code) => code,
            Exit::StoreUnreachable => 69,
            Exit::LockLost => 70,
            Exit::Skipped => 75,
            Exit::BadConfig => 78,
        })
    }
}

/// Why a command ends without having done its work: what to print, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What to print.
    pub message: String,
    /// Whether the message is complete, and begins with `error: ` already.
    pub drawn: bool,
}

impl Failure {
    /// Returns a failure with this exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), drawn: false }
    }

    /// Returns a failure with exit code 1.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Returns the failure for an invalid jobs.toml, from its rendered problems.
    pub fn drawn(problems: String) -> Self {
        Self { exit: Exit::BadConfig, message: problems, drawn: true }
    }

    /// Returns a function that makes failures from the errors of this store.
    pub(crate) fn of(store: &dyn Store) -> impl Fn(StoreError) -> Self {
        |error| Self::store(&store.label(), &error)
    }

    /// Returns the failure for a store that cannot be reached, or that refused a request.
    pub fn store(label: &str, error: &StoreError) -> Self {
        let usual = match error {
            StoreError::Refused(_) => "it answers with an error: `solocron check --probe` shows its settings",
            StoreError::NotSent(_) | StoreError::Unknown(_) => UNREACHABLE,
        };
        let help = error.help().unwrap_or(usual);
        Self::new(Exit::StoreUnreachable, format!("{}\n  help: {help}", error.named(label)))
    }

    /// Adds a note if the failure is that the store cannot be reached.
    pub fn with_note_if_unreachable(mut self, note: &str) -> Self {
        if self.exit == Exit::StoreUnreachable {
            self.message.push_str(&format!("\n  note: {note}"));
        }
        self
    }
}

impl From<OperateError> for Failure {
    fn from(error: OperateError) -> Self {
        if let OperateError::Store { label, error } = &error {
            return Self::store(label, error);
        }
        let exit = match error {
            OperateError::NoTick { .. } => Exit::Usage,
            _ if error.is_unreachable() => Exit::StoreUnreachable,
            _ => Exit::Failed,
        };
        let help = error.help().map_or(String::new(), |help| format!("\n  help: {help}"));
        Self::new(exit, format!("{error}{help}"))
    }
}

impl From<TimeError> for Failure {
    fn from(error: TimeError) -> Self {
        Self::new(Exit::Usage, error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobName;

    #[test]
    fn errors_of_acts_have_their_help_and_the_exit_code_of_the_contract() {
        let job = JobName::parse("backup").expect("a name");
        let (label, error) = ("redis://a".to_owned(), StoreError::NotSent("no answer".into()));
        for (error, exit, message) in [
            (OperateError::NotRunning(job.clone()), Exit::Failed, "job `backup` is not running".to_owned()),
            (
                OperateError::Disabled(job),
                Exit::Failed,
                "job `backup` is disabled (enabled = false)\n  help: enable it in the file".to_owned(),
            ),
            (
                OperateError::NoTick { what: "`backup` has no tick then".into(), come: vec!["`a`".into()] },
                Exit::Usage,
                "`backup` has no tick then\n  help: write `a`, or no tick: then it is for now".to_owned(),
            ),
            (
                OperateError::TooLate { label: label.clone() },
                Exit::StoreUnreachable,
                "store redis://a: every request took more than a second to reach the store: nothing was changed"
                    .to_owned(),
            ),
            (
                OperateError::Store { label, error },
                Exit::StoreUnreachable,
                format!("store redis://a: no answer\n  help: {UNREACHABLE}"),
            ),
        ] {
            let failure = Failure::from(error);
            assert_eq!((failure.exit, failure.message, failure.drawn), (exit, message, false));
        }
    }
}
