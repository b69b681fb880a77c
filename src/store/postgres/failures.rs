//! What errors of a PostgreSQL server mean for a request, and for people.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::job::{format_duration, quoted};
use crate::store::{Diagnosis, FailureCause, StoreError};

/// Why a connection attempt failed.
pub(super) struct ConnectFailure {
    pub(super) diagnosis: Diagnosis,
}

impl ConnectFailure {
    pub(super) fn of_connection(error: &Error) -> Self {
        Self { diagnosis: diagnose(error) }
    }

    pub(super) fn late(limit: Duration) -> Self {
        Self { diagnosis: format!("no connection within {}", format_duration(limit)).into() }
    }
}

/// What an error means for a request, and whether the connection can still be used.
pub(super) struct Judged {
    pub(super) error: StoreError,
    pub(super) ends_connection: bool,
}

/// Judges the error of a statement. One that the server reports as `ERROR` has undone the statement; after any other the
/// statement may have been committed.
pub(super) fn judge(error: &Error) -> Judged {
    let diagnosis = diagnose(error);
    let Some(reported) = error.as_db_error().filter(|found| found.parsed_severity() == Some(Severity::Error))
    else {
        return Judged { error: StoreError::Unknown(diagnosis), ends_connection: true };
    };
    Judged { error: StoreError::Refused(diagnosis), ends_connection: is_no_primary(reported) }
}

/// Whether the server is not, or not any more, one that accepts writes.
fn is_no_primary(error: &DbError) -> bool {
    let code = error.code();
    *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
        || *code == SqlState::CANNOT_CONNECT_NOW
        || code.code().starts_with("57P")
}

/// Returns what is wrong, and what to do about it where that is known.
pub(super) fn diagnose(error: &Error) -> Diagnosis {
    let Some(reported) = error.as_db_error() else {
        // The client's own message says at which step it failed, its source says why.
        let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        return quoted(&format!("{error}{why}")).into();
    };
    let said = quoted(reported.message());
    let code = reported.code();
    let of = |cause, help: &str| Diagnosis::of(cause, said.clone()).help(help);
    if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        of(FailureCause::PasswordWrong, "check user and password in `store`, and the server's pg_hba.conf")
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        of(FailureCause::NoDatabase, "create the database, or correct its name at the end of `store`")
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        of(FailureCause::NoRight, "grant the rights that docs/operations.md lists to the user of `store`")
    } else if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME {
        of(
            FailureCause::NoTables,
            "make the tables: `solocron store init`, or by hand with what `solocron store init --sql` prints",
        )
    } else if *code == SqlState::DIVISION_BY_ZERO || *code == SqlState::LOCK_NOT_AVAILABLE {
        // The statement of a swap fails with the first: see there.
        "another transaction had locked the rows for more than a second: nothing was written".into()
    } else {
        said.into()
    }
}
