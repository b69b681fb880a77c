//! Slips in the SQLite file. Their ttl is measured as leases are: a reboot ends them, and no step of the wall clock does.

use std::time::Duration;

use rusqlite::params;

use crate::lease::LeaseInstant;
use crate::store::{LONGEST_TTL, SLIP_BYTES, SLIP_TEXTS, SlipLoad};

use super::tables::{TableError, Tables};

/// Selects the texts of a slip that are not over. One that is to last longer than any does was left before a reboot.
const LIVE: &str = "cluster = ?1 AND slip = ?2 AND until > ?3 AND until <= ?4";

impl Tables<'_> {
    /// Returns what a slip holds.
    pub(super) fn held(&self, slip: &str, now: LeaseInstant) -> Result<SlipLoad, TableError> {
        let size = "COUNT(*), COALESCE(SUM(LENGTH(CAST(text AS BLOB))), 0)";
        Ok(self.connection.prepare_cached(&format!("SELECT {size} FROM slips WHERE {LIVE}"))?.query_row(
            params![self.cluster.as_str(), slip, now.0, now.plus(LONGEST_TTL).0],
            |row| {
                let size = |number: i64| usize::try_from(number).unwrap_or_default();
                Ok(SlipLoad { texts: size(row.get(0)?), bytes: size(row.get(1)?) })
            },
        )?)
    }

    /// Leaves a text in a slip, which lasts for its ttl from now on. If it does not fit, returns what the slip holds.
    pub(super) fn leave(
        &self,
        slip: &str,
        text: &str,
        ttl: Duration,
        now: LeaseInstant,
    ) -> Result<Option<SlipLoad>, TableError> {
        self.connection
            .prepare_cached("DELETE FROM slips WHERE cluster = ?1 AND NOT (until > ?2 AND until <= ?3)")?
            .execute(params![self.cluster.as_str(), now.0, now.plus(LONGEST_TTL).0])?;
        let held = self.held(slip, now)?;
        if !held.takes(text.len()) {
            return Ok(Some(held));
        }
        let until = now.plus(ttl).0;
        self.connection
            .prepare_cached("INSERT INTO slips (cluster, slip, text, until) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![self.cluster.as_str(), slip, text, until])?;
        self.connection
            .prepare_cached("UPDATE slips SET until = ?3 WHERE cluster = ?1 AND slip = ?2")?
            .execute(params![self.cluster.as_str(), slip, until])?;
        Ok(None)
    }

    /// Returns and removes what was left in a slip, oldest first. Removes it as well if it is more than solocron leaves there.
    pub(super) fn collect(&self, slip: &str, now: LeaseInstant) -> Result<Vec<String>, TableError> {
        let SlipLoad { bytes, texts: count } = self.held(slip, now)?;
        let is_ours = bytes <= SLIP_BYTES && count <= SLIP_TEXTS;
        let texts = if is_ours { self.texts(slip, now)? } else { Vec::new() };
        self.connection
            .prepare_cached("DELETE FROM slips WHERE cluster = ?1 AND slip = ?2")?
            .execute(params![self.cluster.as_str(), slip])?;
        match is_ours {
            true => Ok(texts),
            false => Err(TableError::Foreign(format!("slip `{slip}` held {bytes} bytes in {count} texts"))),
        }
    }

    fn texts(&self, slip: &str, now: LeaseInstant) -> Result<Vec<String>, TableError> {
        let mut statement =
            self.connection.prepare_cached(&format!("SELECT text FROM slips WHERE {LIVE} ORDER BY id"))?;
        let texts = statement
            .query_map(params![self.cluster.as_str(), slip, now.0, now.plus(LONGEST_TTL).0], |row| {
                row.get(0)
            })?
            .collect::<Result<Vec<_>, _>>()?;
        Ok(texts)
    }
}
