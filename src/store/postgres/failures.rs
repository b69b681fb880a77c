//! What errors of a PostgreSQL server mean for a request, and for people.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::job::quoted;
use crate::store::{Diagnosis, FailureCause, StoreError};

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
    Judged { error: StoreError::Refused(diagnosis), ends_connection: takes_no_writes(reported) }
}

/// Whether the server takes no writes, or is about to stop.
fn takes_no_writes(error: &DbError) -> bool {
    let code = error.code();
    *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
        || code.code().starts_with("57P")
}

/// Returns what is wrong, and what to do about it where that is known.
pub(super) fn diagnose(error: &Error) -> Diagnosis {
    let Some(reported) = error.as_db_error() else {
        // The client's own message says at which step it failed, its source says why.
        let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        return of_client(&quoted(&format!("{error}{why}")));
    };
    let said = quoted(reported.message());
    let code = reported.code();
    let of = |cause, help: &str| Diagnosis::of(cause, said.clone()).help(help);
    if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        of(FailureCause::PasswordWrong, "check user and password in `store`, and the server's pg_hba.conf")
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        of(FailureCause::NoDatabase, "create the database, or correct its name at the end of `store`")
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        of(
            FailureCause::NoRight,
            "grant the rights of docs/postgres.md, \"A user for solocron\", to the user of `store`: `solocron check --probe` names those \
             that are missing; `store init` needs a user who may create a schema in the database",
        )
    } else if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::INVALID_SCHEMA_NAME {
        of(
            FailureCause::NoTables,
            "make the tables: `solocron store init`, or by hand with what `solocron store init --sql` prints",
        )
    } else if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        of(
            FailureCause::Conflict,
            "let transactions be `read committed`: `alter role USER set default_transaction_isolation = 'read committed'`",
        )
    } else if *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
        of(
            FailureCause::NotificationsFull,
            "end the session that listens and does not read: `select pid, state, query from pg_stat_activity where state like 'idle in \
             transaction%'`; or add `?hints=off` to `store`",
        )
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        of(
            FailureCause::TooManyConnections,
            "close connections that nobody needs, raise `max_connections` or the user's connection limit, or use a pooler. `select usename, \
             application_name, count(*) from pg_stat_activity group by 1, 2` counts the connections; a replica has three to eight",
        )
    } else if *code == SqlState::DISK_FULL {
        of(FailureCause::DiskFull, "free space on the server's disk; replicas then continue by themselves")
    } else if *code == SqlState::DIVISION_BY_ZERO || *code == SqlState::LOCK_NOT_AVAILABLE {
        // The first is the `1 / 0` in the statement of a swap: see `sql::SWAP`.
        let why = "the server took more than half a second to lock a row, or more than one to write: nothing was written";
        let look = "select pid, state, query from pg_stat_activity where state like 'idle in transaction%'";
        let help = format!("look for a session that holds locks: `{look}`");
        Diagnosis::of(FailureCause::RowLocked, why).help(help)
    } else {
        said.into()
    }
}

/// Returns what an error of the client library means. The library has no codes for them.
fn of_client(said: &str) -> Diagnosis {
    let of = |cause, help: &str| Diagnosis::of(cause, said).help(help);
    if said.contains("password missing") {
        of(FailureCause::PasswordMissing, "put the password into `store`: `postgres://USER:PASSWORD@host/db`")
    } else if said.contains("does not support TLS") {
        of(
            FailureCause::NoTls,
            "set up TLS on the server, or write `sslmode=prefer` in `store`: then nothing is verified",
        )
    } else if said.contains("UnknownIssuer") {
        of(
            FailureCause::Untrusted,
            "name the authority's certificate in `store`: `sslrootcert=/etc/ssl/postgres-ca.pem`",
        )
    } else if said.contains("does not allow writes") {
        Diagnosis::from(said).help(
            "name the primary in `store`; if this is to be the primary, promote it; if it is the primary, `default_transaction_read_only` \
             is on for the server, the database or the user: `alter role USER set default_transaction_read_only = off`",
        )
    } else {
        said.into()
    }
}
