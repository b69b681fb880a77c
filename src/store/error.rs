//! Errors of a store. The kinds differ in whether the request may have been applied; the diagnosis says what is wrong, and
//! what to do about it.

use std::fmt;
use std::ops::Deref;

use crate::job::JobName;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store refused it, and certainly did not apply it.
    #[error("{0}")]
    Refused(Diagnosis),
    /// It was certainly not sent.
    #[error("{0}")]
    NotSent(Diagnosis),
    /// It may have been applied: send it again with the same run id.
    #[error("{0}")]
    Unknown(Diagnosis),
}

/// What is wrong, as a sentence; with the cause and what to do about it, where these are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    sentence: String,
    cause: Option<FailureCause>,
    help: Option<String>,
}

/// The cause of a failure of a store or its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCause {
    /// The server requires a password, and the address has none.
    PasswordMissing,
    /// The server refuses the user or the password.
    PasswordWrong,
    /// The server has no database of this number or name.
    NoDatabase,
    /// The address asks for TLS, and the port does not speak it.
    NoTls,
    /// The port seems to speak TLS, and the address does not ask for it.
    TlsExpected,
    /// The server's certificate is not trusted.
    Untrusted,
    /// The other end is not a Redis server.
    NotRedis,
    /// The server denies its user a command, a key, a channel or a table.
    NoRight,
    /// The tables of the store do not exist.
    NoTables,
    /// A key, a column or a value is not of the type that it should be.
    WrongType,
    /// The store's data for this job cannot be read. Other jobs are not affected.
    DamagedJob(JobName),
    /// The file of the embedded store does not exist.
    NoFile,
    /// This user may not read or write the file of the embedded store, or its folder.
    FileDenied,
    /// Other users could change the file of the embedded store.
    FileExposed,
    /// The file of the embedded store is no database, or a damaged one.
    NotADatabase,
    /// Another transaction was first, and nothing was written.
    Conflict,
    /// Another session has a row locked, or the server was too slow, and nothing was written.
    RowLocked,
    /// The server can take no more notifications, and nothing was written.
    NotificationsFull,
    /// The server, or its user, has as many connections as it may have.
    TooManyConnections,
    /// The server's disk is full, and nothing was written.
    DiskFull,
}

impl StoreError {
    /// Returns what is wrong.
    pub fn diagnosis(&self) -> &Diagnosis {
        let (Self::Refused(diagnosis) | Self::NotSent(diagnosis) | Self::Unknown(diagnosis)) = self;
        diagnosis
    }

    /// Returns the cause; `None` if it is not known.
    pub fn cause(&self) -> Option<&FailureCause> {
        self.diagnosis().cause.as_ref()
    }

    /// Returns what to do about it; `None` if that is not known.
    pub fn help(&self) -> Option<&str> {
        self.diagnosis().help.as_deref()
    }

    /// Returns what is wrong, with the store's address (`label`) before it.
    pub(crate) fn named(&self, label: &str) -> String {
        let said = self.to_string();
        // Some errors name the store already; all errors of a local store do.
        let is_named = said.contains(label) || label.starts_with("local");
        if is_named { said } else { format!("store {label}: {said}") }
    }

    /// Whether the request may have been applied.
    pub fn may_have_been_applied(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Whether only the data of one job cannot be read. Other jobs are not affected.
    pub(crate) fn is_of_one_job(&self) -> bool {
        matches!(self.cause(), Some(FailureCause::DamagedJob(_)))
    }

    /// Returns the absent value in place of an error about the data of one job.
    pub(super) fn unless_of_one_job<T: Default>(self) -> Result<T, Self> {
        if self.is_of_one_job() { Ok(T::default()) } else { Err(self) }
    }

    /// Whether the embedded store stays unusable until an operator changes something on this machine, so that waiting does
    /// not help.
    pub fn needs_hands(&self) -> bool {
        matches!(
            self.cause(),
            Some(FailureCause::FileDenied | FailureCause::FileExposed | FailureCause::NotADatabase)
        )
    }
}

impl Diagnosis {
    pub(crate) fn of(cause: FailureCause, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), cause: Some(cause), help: None }
    }

    /// Returns the cause if it is certain. [`FailureCause::TlsExpected`] is not: a server that restarts closes connections
    /// just as one that speaks TLS does.
    pub(crate) fn certain_cause(&self) -> Option<&FailureCause> {
        self.cause.as_ref().filter(|cause| **cause != FailureCause::TlsExpected)
    }

    /// Adds what to do about it.
    #[must_use]
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl<S: Into<String>> From<S> for Diagnosis {
    /// Returns a diagnosis without a known cause.
    fn from(sentence: S) -> Self {
        Self { sentence: sentence.into(), cause: None, help: None }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Deref for Diagnosis {
    type Target = str;

    fn deref(&self) -> &str {
        &self.sentence
    }
}
