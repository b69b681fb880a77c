//! Why a store did not answer. The kinds differ in what may have happened to the request; the diagnosis says what is wrong,
//! and the way out.

use std::fmt;
use std::ops::Deref;

use crate::job::JobName;

/// A request that got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store refused it, and certainly did not apply it.
    #[error("{0}")]
    Refused(Diagnosis),
    /// It was certainly not sent.
    #[error("{0}")]
    NotSent(Diagnosis),
    /// It may have been applied: ask again with the same run id.
    #[error("{0}")]
    Unknown(Diagnosis),
}

/// What is wrong, as a sentence; where the cause is known, with that and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    sentence: String,
    cause: Option<FailureCause>,
    help: Option<String>,
}

/// What is wrong with a store or its address, where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCause {
    /// The server requires a password, and the address has none.
    PasswordMissing,
    /// The server refuses the user or the password.
    PasswordWrong,
    /// The server has no database of this number.
    NoDatabase,
    /// The port does not speak TLS, and the address asks for it.
    NoTls,
    /// The port speaks TLS, as far as can be told, and the address does not ask for it.
    TlsExpected,
    /// The server's certificate is not trusted.
    Untrusted,
    /// What answers is no Redis.
    NotRedis,
    /// The server denies its user a command, a key or a channel.
    NoRight,
    /// A key, or a value, is not of the type that it should be.
    WrongType,
    /// What the store holds of this job cannot be read; it is a matter of this job alone.
    DamagedJob(JobName),
    /// The file of the embedded store is not there.
    NoFile,
    /// This user may not read or write the file of the embedded store, or its folder.
    FileDenied,
    /// Other users could change the file of the embedded store.
    FileExposed,
    /// The file of the embedded store is no database, or a damaged one.
    NotADatabase,
}

impl StoreError {
    /// What is wrong.
    pub fn diagnosis(&self) -> &Diagnosis {
        let (Self::Refused(diagnosis) | Self::NotSent(diagnosis) | Self::Unknown(diagnosis)) = self;
        diagnosis
    }

    /// The cause, where it is known.
    pub fn cause(&self) -> Option<&FailureCause> {
        self.diagnosis().cause.as_ref()
    }

    /// The way out, where the cause is known.
    pub fn help(&self) -> Option<&str> {
        self.diagnosis().help.as_deref()
    }

    /// Whether the request may have been applied.
    pub fn may_have_been_applied(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Whether an embedded store cannot be used until somebody acts on this machine: waiting does not help.
    pub fn needs_hands(&self) -> bool {
        matches!(
            self.cause(),
            Some(FailureCause::FileDenied | FailureCause::FileExposed | FailureCause::NotADatabase)
        )
    }
}

impl Diagnosis {
    /// A sentence with its cause.
    pub(crate) fn of(cause: FailureCause, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), cause: Some(cause), help: None }
    }

    /// The cause, where it is certain. A server that restarts ends connections as one does that speaks TLS.
    pub(crate) fn certain_cause(&self) -> Option<&FailureCause> {
        self.cause.as_ref().filter(|cause| **cause != FailureCause::TlsExpected)
    }

    /// With the way out.
    #[must_use]
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl<S: Into<String>> From<S> for Diagnosis {
    /// A sentence whose cause is not known.
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

    /// The sentence.
    fn deref(&self) -> &str {
        &self.sentence
    }
}
