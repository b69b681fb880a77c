//! The exit codes of the contract.

use std::process::ExitCode;

use crate::store::{Store, StoreError};

/// The way out where nobody knows why a store does not answer.
pub(super) const UNREACHABLE: &str = "check that it is up and that this machine may connect, or name another one with --store or SOLOCRON_STORE";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Failed, or something is wrong.
    Failed,
    /// Wrong usage, or an unknown job.
    Usage,
    /// A manual run was skipped.
    Skipped,
    /// The lock of a command was lost.
    LockLost,
    /// The lock of a command is held by another; the code may be chosen.
    Conflict(u8),
    /// As a command did that was followed.
    AsCommand(u8),
    /// The store cannot be reached.
    StoreUnreachable,
    /// jobs.toml is bad.
    BadConfig,
}

impl Exit {
    /// As a shell says of a command that this signal ended.
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

/// Why a command ends without having done its work: what to print, and how to exit.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How to exit.
    pub exit: Exit,
    /// What to print.
    pub message: String,
    /// Whether the message is a drawing of its own, that begins with `error: ` already.
    pub drawn: bool,
}

impl Failure {
    /// A failure that ends in this exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), drawn: false }
    }

    /// jobs.toml is bad; its problems are drawn.
    pub fn drawn(problems: String) -> Self {
        Self { exit: Exit::BadConfig, message: problems, drawn: true }
    }

    /// What this store answered is the failure.
    pub(crate) fn of(store: &dyn Store) -> impl Fn(StoreError) -> Self {
        |error| Self::store(&store.label(), &error)
    }

    /// The store cannot be reached, or refused.
    pub fn store(label: &str, error: &StoreError) -> Self {
        let said = error.to_string();
        // Some errors name the store already, those of a local one all.
        let is_named = said.contains(label) || label.starts_with("local");
        let named = if is_named { said } else { format!("store {label}: {said}") };
        let usual = match error {
            StoreError::Refused(_) => "it answers with an error: `solocron check --probe` shows its settings",
            StoreError::NotSent(_) | StoreError::Unknown(_) => UNREACHABLE,
        };
        let help = error.help().unwrap_or(usual);
        Self::new(Exit::StoreUnreachable, format!("{named}\n  help: {help}"))
    }

    /// With something to know, where it is the store that did not answer.
    pub fn noting_unheard(mut self, note: &str) -> Self {
        if self.exit == Exit::StoreUnreachable {
            self.message.push_str(&format!("\n  note: {note}"));
        }
        self
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failed, format!("{error:#}"))
    }
}
