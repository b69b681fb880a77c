//! Heartbeats and notices in the SQLite file.

use rusqlite::{OptionalExtension, params};

use crate::job::JobName;
use crate::store::{Beat, FORGET_NODES_MS, FORGET_NOTICES_MS, MOST_BEATS, Marker, Notice, Peer};
use crate::time::UtcMillis;

use super::tables::{TableError, Tables};

impl Tables<'_> {
    /// Returns every replica with a heartbeat within the last hour, by name.
    pub(super) fn peers(&self, now: UtcMillis) -> Result<Vec<Peer>, TableError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT at, beat FROM nodes WHERE cluster = ?1 AND at >= ?2 ORDER BY node")?;
        let rows = statement
            .query_map(params![self.cluster.as_str(), now.0.saturating_sub(FORGET_NODES_MS)], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let peer = |(at, text): (i64, String)| {
            Some(Peer { at: UtcMillis(at), beat: serde_json::from_str(&text).ok()? })
        };
        Ok(rows.into_iter().filter_map(peer).collect())
    }

    /// Returns the number of the newest heartbeat of the cluster that is still stored; 0 if there is none.
    pub(super) fn newest_beat(&self) -> Result<u64, TableError> {
        let count = "CASE WHEN json_valid(beat) THEN
                 CASE json_type(beat, '$.count') WHEN 'integer' THEN beat ->> '$.count' END
             END";
        let newest: i64 = self
            .connection
            .prepare_cached(&format!(
                "SELECT COALESCE(MAX(count), 0) FROM (SELECT {count} AS count FROM nodes WHERE cluster = ?1)
                 WHERE typeof(count) = 'integer' AND count BETWEEN 0 AND ?2"
            ))?
            .query_row(params![self.cluster.as_str(), MOST_BEATS.cast_signed()], |row| row.get(0))?;
        Ok(newest.unsigned_abs())
    }

    /// Returns the marker of the store; `None` before the first heartbeat.
    pub(super) fn marker(&self) -> Result<Option<Marker>, TableError> {
        Ok(self
            .connection
            .prepare_cached("SELECT marker FROM markers WHERE cluster = ?1")?
            .query_row([self.cluster.as_str()], |row| row.get(0).map(Marker))
            .optional()?)
    }

    /// Stores a marker in place of the former one.
    pub(super) fn mark(&self, marker: &Marker) -> Result<(), TableError> {
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO markers (cluster, marker) VALUES (?1, ?2)")?
            .execute([self.cluster.as_str(), &marker.0])?;
        Ok(())
    }

    /// Stores a heartbeat.
    pub(super) fn beat(&self, beat: &Beat, now: UtcMillis) -> Result<(), TableError> {
        self.connection
            .prepare_cached("DELETE FROM nodes WHERE cluster = ?1 AND at < ?2")?
            .execute(params![self.cluster.as_str(), now.0.saturating_sub(FORGET_NODES_MS)])?;
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO nodes (cluster, node, at, beat) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                self.cluster.as_str(),
                beat.node.as_str(),
                now.0,
                serde_json::to_string(beat).expect("a beat is plain JSON")
            ])?;
        Ok(())
    }

    /// Stores a notice that a job's record was changed.
    pub(super) fn announce(&self, job: &JobName, now: UtcMillis) -> Result<(), TableError> {
        self.connection
            .prepare_cached("DELETE FROM notices WHERE cluster = ?1 AND (at < ?2 OR job = ?3)")?
            .execute(params![self.cluster.as_str(), now.0.saturating_sub(FORGET_NOTICES_MS), job.as_str()])?;
        self.connection
            .prepare_cached("INSERT INTO notices (cluster, job, at) VALUES (?1, ?2, ?3)")?
            .execute(params![self.cluster.as_str(), job.as_str(), now.0])?;
        Ok(())
    }

    /// Returns the newest notice about each job that had one within the last minute.
    pub(super) fn notices(&self, now: UtcMillis) -> Result<Vec<Notice>, TableError> {
        let since = now.0.saturating_sub(FORGET_NOTICES_MS);
        let rows = self
            .connection
            .prepare_cached("SELECT job, id FROM notices WHERE cluster = ?1 AND at >= ?2")?
            .query_map(params![self.cluster.as_str(), since], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let notice = |(job, stamp): (String, i64)| Some(Notice { job: JobName::parse(&job).ok()?, stamp });
        Ok(rows.into_iter().filter_map(notice).collect())
    }
}
