//! Feeds in the SQLite file.

use rusqlite::params;

use crate::store::{Feed, FeedId, FeedLine, LONGEST_LINE};

use super::tables::{TableError, Tables};

impl Tables<'_> {
    /// Appends a line, and removes those beyond the newest that are kept.
    pub(super) fn append_line(&self, feed: Feed, line: &str) -> Result<(), TableError> {
        let kept = i64::try_from(feed.kept()).unwrap_or(i64::MAX);
        self.connection
            .prepare_cached("INSERT INTO feeds (cluster, feed, line) VALUES (?1, ?2, ?3)")?
            .execute(params![self.cluster.as_str(), feed.as_str(), line])?;
        self.connection
            .prepare_cached(
                "DELETE FROM feeds WHERE cluster = ?1 AND feed = ?2 AND id <= (
                     SELECT id FROM feeds WHERE cluster = ?1 AND feed = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
            )?
            .execute(params![self.cluster.as_str(), feed.as_str(), kept])?;
        Ok(())
    }

    /// Returns at most `count` of the newest lines after this one, oldest first. The id of a line is the number of its row.
    pub(super) fn newest_lines(
        &self,
        feed: Feed,
        after: Option<FeedId>,
        count: usize,
    ) -> Result<Vec<FeedLine>, TableError> {
        let after = after.map_or(0, |id| i64::try_from(id.first).unwrap_or(i64::MAX));
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(
            "SELECT id, IIF(LENGTH(CAST(line AS BLOB)) <= ?5, CAST(line AS BLOB), NULL) FROM feeds
             WHERE cluster = ?1 AND feed = ?2 AND id > ?3 ORDER BY id DESC LIMIT ?4",
        )?;
        let (cluster, feed, longest) = (self.cluster.as_str(), feed.as_str(), LONGEST_LINE as i64);
        let mut rows = statement.query(params![cluster, feed, after, count, longest])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, text): (i64, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
            let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
            lines.push(FeedLine { id: FeedId { first: id.unsigned_abs(), second: 0 }, text });
        }
        lines.reverse();
        Ok(lines)
    }
}
