//! The tables of the SQLite file, and the one transaction in which a request is decided.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::job::{ClusterName, JobName};
use crate::lease::{
    Decision, FieldError, HistoryEntry, Record, Reply, Request, Server, decide, fields_as_json,
};
use crate::store::{Diagnosis, FailureCause, KEPT_ENTRIES, Replied, StoreError};

/// A failure inside a transaction, which is then rolled back.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("job `{0}`: {1}")]
    Field(JobName, FieldError),
    #[error("job `{0}`: stored text is not JSON: {1}")]
    Json(JobName, serde_json::Error),
    #[error("{0}, which solocron did not write")]
    Foreign(String),
}

impl From<TableError> for StoreError {
    fn from(error: TableError) -> Self {
        let sentence = format!("local store: {error}");
        Self::Refused(match error {
            TableError::Sql(_) => sentence.into(),
            TableError::Foreign(_) => Diagnosis::of(FailureCause::WrongType, sentence),
            TableError::Field(job, _) | TableError::Json(job, _) => {
                Diagnosis::of(FailureCause::DamagedJob(job), sentence)
            }
        })
    }
}

type Columns = BTreeMap<String, String>;

/// Creates the tables that do not exist.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS records (
             cluster TEXT NOT NULL, job TEXT NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (cluster, job)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS entries (
             id INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, job TEXT NOT NULL, fields TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS entries_by_job ON entries (cluster, job, id);
         CREATE TABLE IF NOT EXISTS nodes (
             cluster TEXT NOT NULL, node TEXT NOT NULL, at INTEGER NOT NULL, beat TEXT NOT NULL,
             PRIMARY KEY (cluster, node)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS jobs (
             cluster TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (cluster, job)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS notices (
             id INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, job TEXT NOT NULL, at INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS feeds (
             id INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, feed TEXT NOT NULL, line TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS feeds_by_name ON feeds (cluster, feed, id);
         CREATE TABLE IF NOT EXISTS slips (
             id INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, slip TEXT NOT NULL, text TEXT NOT NULL,
             until INTEGER NOT NULL);
         CREATE INDEX IF NOT EXISTS slips_by_name ON slips (cluster, slip, id);
         CREATE TABLE IF NOT EXISTS markers (cluster TEXT NOT NULL PRIMARY KEY, marker TEXT NOT NULL) WITHOUT ROWID;",
    )
}

/// One cluster's rows.
pub(super) struct Tables<'a> {
    pub(super) connection: &'a Connection,
    pub(super) cluster: &'a ClusterName,
}

impl Tables<'_> {
    /// Decides a request on a job's record. The caller has begun a transaction, and read the clocks after that.
    pub(super) fn decide(
        &self,
        job: &JobName,
        request: &Request,
        server: &Server,
    ) -> Result<Reply, TableError> {
        let before = self.record(job)?;
        let decision = decide(before.as_ref(), request, server);
        if decision.record != before
            && let Some(record) = &decision.record
        {
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO records (cluster, job, fields) VALUES (?1, ?2, ?3)")?
                .execute(params![self.cluster.as_str(), job.as_str(), fields_as_json(record.to_fields())])?;
        }
        if !decision.retracted.is_empty() {
            self.retract(job, &decision)?;
        }
        let newest = match decision.follows {
            Some(_) if !decision.entries.is_empty() => self.entries(job, 1)?.pop(),
            _ => None,
        };
        let (gives_way, entries) = decision.entries_after(newest.as_ref());
        if gives_way {
            self.remove_newest(job)?;
        }
        let history = match entries.iter().any(|entry| decision.may_repeat(entry)) {
            true => self.entries(job, KEPT_ENTRIES)?,
            false => Vec::new(),
        };
        for entry in entries.iter().filter(|entry| !decision.repeats(entry, &history)) {
            self.append(job, entry)?;
        }
        Ok(decision.reply)
    }

    /// Decides requests on several jobs' records, in their order. A record that cannot be read fails only its own request.
    pub(super) fn decide_all(
        &self,
        requests: &[(JobName, Request)],
        server: &Server,
    ) -> Result<Vec<Replied>, TableError> {
        let decided = requests.iter().map(|(job, request)| match self.decide(job, request, server) {
            Ok(reply) => Ok(Ok(reply)),
            Err(error @ TableError::Sql(_)) => Err(error),
            Err(error) => Ok(Err(error.into())),
        });
        decided.collect()
    }

    pub(super) fn record(&self, job: &JobName) -> Result<Option<Record>, TableError> {
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT fields FROM records WHERE cluster = ?1 AND job = ?2")?
            .query_row(params![self.cluster.as_str(), job.as_str()], |row| row.get(0))
            .optional()?;
        let Some(text) = text else { return Ok(None) };
        let fields: Columns =
            serde_json::from_str(&text).map_err(|error| TableError::Json(job.clone(), error))?;
        Record::from_fields(&fields).map(Some).map_err(|error| TableError::Field(job.clone(), error))
    }

    /// Removes entries that were written while a clock was ahead.
    fn retract(&self, job: &JobName, decision: &Decision) -> Result<(), TableError> {
        let mut listed = self
            .connection
            .prepare_cached("SELECT id, fields FROM entries WHERE cluster = ?1 AND job = ?2")?;
        let rows = listed
            .query_map(params![self.cluster.as_str(), job.as_str()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        for (id, text) in rows {
            if decision.retracts(&entry(job, &text)?) {
                self.connection.prepare_cached("DELETE FROM entries WHERE id = ?1")?.execute(params![id])?;
            }
        }
        Ok(())
    }

    fn remove_newest(&self, job: &JobName) -> Result<(), TableError> {
        self.connection
            .prepare_cached(
                "DELETE FROM entries WHERE id = (SELECT MAX(id) FROM entries WHERE cluster = ?1 AND job = ?2)",
            )?
            .execute(params![self.cluster.as_str(), job.as_str()])?;
        Ok(())
    }

    fn append(&self, job: &JobName, entry: &HistoryEntry) -> Result<(), TableError> {
        self.connection
            .prepare_cached("INSERT INTO entries (cluster, job, fields) VALUES (?1, ?2, ?3)")?
            .execute(params![self.cluster.as_str(), job.as_str(), fields_as_json(entry.to_fields())])?;
        self.connection
            .prepare_cached(
                "DELETE FROM entries WHERE cluster = ?1 AND job = ?2 AND id <= (
                     SELECT id FROM entries WHERE cluster = ?1 AND job = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
            )?
            .execute(params![self.cluster.as_str(), job.as_str(), KEPT_ENTRIES as i64])?;
        Ok(())
    }

    /// Returns at most the `newest` entries of a job, oldest first.
    pub(super) fn entries(&self, job: &JobName, newest: usize) -> Result<Vec<HistoryEntry>, TableError> {
        let newest = i64::try_from(newest).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(
            "SELECT fields FROM entries WHERE cluster = ?1 AND job = ?2 ORDER BY id DESC LIMIT ?3",
        )?;
        let texts = statement
            .query_map(params![self.cluster.as_str(), job.as_str(), newest], |row| row.get::<_, String>(0))?
            .collect::<Result<Vec<_>, _>>()?;
        texts.iter().rev().map(|text| entry(job, text)).collect()
    }

    /// Whether the cluster has ever known the job.
    pub(super) fn knows(&self, job: &JobName) -> Result<bool, TableError> {
        Ok(self
            .connection
            .prepare_cached("SELECT 1 FROM jobs WHERE cluster = ?1 AND job = ?2")?
            .exists(params![self.cluster.as_str(), job.as_str()])?)
    }

    /// Returns every job that the cluster has ever known, by name.
    pub(super) fn jobs(&self) -> Result<Vec<JobName>, TableError> {
        let names = self
            .connection
            .prepare_cached(
                "SELECT job FROM jobs WHERE cluster = ?1 UNION SELECT job FROM records WHERE cluster = ?1 ORDER BY job",
            )?
            .query_map([self.cluster.as_str()], |row| row.get::<_, String>(0))?
            .collect::<Result<Vec<_>, _>>()?;
        Ok(names.iter().filter_map(|name| JobName::parse(name).ok()).collect())
    }

    /// Records that the cluster knows the job.
    pub(super) fn enroll(&self, job: &JobName) -> Result<(), TableError> {
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO jobs (cluster, job) VALUES (?1, ?2)")?
            .execute(params![self.cluster.as_str(), job.as_str()])?;
        Ok(())
    }
}

fn entry(job: &JobName, text: &str) -> Result<HistoryEntry, TableError> {
    let fields: Columns = serde_json::from_str(text).map_err(|error| TableError::Json(job.clone(), error))?;
    HistoryEntry::from_fields(&fields).map_err(|error| TableError::Field(job.clone(), error))
}
