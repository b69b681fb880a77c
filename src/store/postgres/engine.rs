//! Cells, texts, feeds and slips in the tables of a PostgreSQL server.

use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use crate::config::PostgresUrl;
use crate::job::{ClusterName, JobName};
use crate::lease::{Era, Version, fields_as_ascii_json, fields_as_json};
use crate::store::cells::{
    CellSwap, Channel, ConfirmedBeat, Engine, Exchanged, JobCell, Note, NoteKind, NumberedEntry, Put,
    ReadCells, RequestLane, ServerMoment, entry_of, record_of,
};
use crate::store::network::tls::Verification;
use crate::store::{
    Answered, Concern, Diagnosis, FORGET_NODES_MS, FORGET_NOTICES_MS, FailureCause, Feed, FeedId, FeedLine,
    KEPT_ENTRIES, LONGEST_LINE, LONGEST_TTL, Marker, SLIP_BYTES, SLIP_TEXTS, Slip, SlipLoad, StoreError,
};
use crate::time::UtcMillis;

use super::connection::{Address, Parameter, PostgresConnector, verification};
use super::{inspect, sql, subscription};

/// One cluster's rows on a PostgreSQL server.
pub(super) struct PostgresEngine {
    cluster: String,
    label: String,
    address: Address,
    /// Whether hints and wakes are published.
    publishes: bool,
    /// Whether others on the network could read, or change, what is sent.
    is_exposed: bool,
    renewals: PostgresConnector,
    pub(super) others: PostgresConnector,
}

impl fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresEngine").field("label", &self.label).finish_non_exhaustive()
    }
}

impl PostgresEngine {
    /// Starts to connect, and returns at once. Needs a running Tokio runtime.
    pub(super) fn start(url: &PostgresUrl, cluster: &ClusterName) -> Result<Self, StoreError> {
        let (address, label) = (Address::at(url)?, url.to_string());
        Ok(Self {
            cluster: cluster.to_string(),
            publishes: url.publishes(),
            is_exposed: url.is_elsewhere() && verification(url) == Verification::None,
            renewals: PostgresConnector::start(&address, &label),
            others: PostgresConnector::start(&address, &label),
            address,
            label,
        })
    }

    /// Runs a statement whose first parameter is the cluster.
    async fn query(
        &self,
        lane: RequestLane,
        statement: &str,
        further: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let mut parameters: Vec<Parameter<'_>> = vec![(&self.cluster, Type::TEXT)];
        parameters.extend_from_slice(further);
        let connector = match lane {
            RequestLane::Renewals => &self.renewals,
            RequestLane::Others => &self.others,
        };
        connector.query(statement, &parameters).await
    }

    /// Returns a message as it is published, if messages are.
    fn message(&self, text: &str) -> Option<String> {
        self.publishes.then(|| format!("{}\n{text}", self.cluster))
    }

    async fn read_cells(&self, lane: RequestLane, jobs: &[JobName]) -> Result<ReadCells, StoreError> {
        let names: Vec<&str> = jobs.iter().map(JobName::as_str).collect();
        let parameters: [Parameter<'_>; 1] = [(&names, Type::TEXT_ARRAY)];
        let rows = self.query(lane, &sql::READ, &parameters).await?;
        let moment = rows.first().map(moment_of).transpose()?;
        let moment = moment.filter(|_| rows.len() == jobs.len()).ok_or_else(|| {
            StoreError::Unknown(format!("the store gave {} cells of {} jobs", rows.len(), jobs.len()).into())
        })?;
        Ok((jobs.iter().zip(&rows).map(|(job, row)| cell_of(job, row)).collect(), moment))
    }

    async fn swap_cells(
        &self,
        lane: RequestLane,
        swaps: &[CellSwap],
        beat: Option<&ConfirmedBeat>,
    ) -> Result<Vec<Option<UtcMillis>>, StoreError> {
        match self.swap_once(lane, &sql::SWAP, swaps, beat, self.publishes).await {
            // Hints decide nothing: without them replicas look later. All that the statement had written was undone.
            Err(error) if error.cause() == Some(&FailureCause::NotificationsFull) => {
                self.swap_once(lane, &sql::SWAP, swaps, beat, false).await
            }
            // A session that has one row locked holds up its job alone: it is tried again, by itself.
            Err(error) if error.cause() == Some(&FailureCause::RowLocked) && swaps.len() > 1 => {
                self.swap_once(lane, &sql::SWAP_UNLOCKED, swaps, beat, self.publishes).await
            }
            // As if each cell had another version by now: they are read again.
            Err(error) if error.cause() == Some(&FailureCause::Conflict) => Ok(vec![None; swaps.len()]),
            result => result,
        }
    }

    /// Swaps cells by this statement. `publishes`: whether it publishes hints.
    async fn swap_once(
        &self,
        lane: RequestLane,
        statement: &str,
        swaps: &[CellSwap],
        beat: Option<&ConfirmedBeat>,
        publishes: bool,
    ) -> Result<Vec<Option<UtcMillis>>, StoreError> {
        // Rows are locked in the order of their jobs.
        let mut sorted: Vec<&CellSwap> = swaps.iter().collect();
        sorted.sort_by_key(|swap| &swap.job);
        let columns = SwapColumns::of(&sorted, publishes);
        let kept = KEPT_ENTRIES as i64;
        let node = beat.map(|beat| beat.node.as_str());
        let count = beat.map(|beat| beat.count.cast_signed());
        let parameters: [Parameter<'_>; 18] = [
            (&columns.jobs, Type::TEXT_ARRAY),
            (&columns.versions, Type::INT8_ARRAY),
            (&columns.nonces, Type::INT8_ARRAY),
            (&columns.eras, Type::TEXT_ARRAY),
            (&columns.decided, Type::INT8_ARRAY),
            (&columns.new_nonces, Type::INT8_ARRAY),
            (&columns.records, Type::TEXT_ARRAY),
            (&columns.newest_numbers, Type::INT8_ARRAY),
            (&columns.newest, Type::TEXT_ARRAY),
            (&columns.hints, Type::TEXT_ARRAY),
            (&columns.removed.0, Type::TEXT_ARRAY),
            (&columns.removed.1, Type::INT8_ARRAY),
            (&columns.stored.0, Type::TEXT_ARRAY),
            (&columns.stored.1, Type::INT8_ARRAY),
            (&columns.stored.2, Type::TEXT_ARRAY),
            (&kept, Type::INT8),
            (&node, Type::TEXT),
            (&count, Type::INT8),
        ];
        let rows = self.query(lane, statement, &parameters).await?;
        let written = |row: &Row| Ok((get::<String>(row, 0)?, UtcMillis(get(row, 1)?)));
        let written: Result<Vec<_>, StoreError> = rows.iter().map(written).collect();
        // It was committed.
        let written = written.map_err(|error| StoreError::Unknown(error.diagnosis().clone()))?;
        let of_job =
            |swap: &CellSwap| written.iter().find(|(job, _)| job == swap.job.as_str()).map(|(_, at)| *at);
        Ok(swaps.iter().map(of_job).collect())
    }

    async fn read_entries(
        &self,
        lane: RequestLane,
        jobs: &[JobName],
        newest: usize,
    ) -> Result<Vec<Result<Vec<NumberedEntry>, StoreError>>, StoreError> {
        let names: Vec<&str> = jobs.iter().map(JobName::as_str).collect();
        let newest = i64::try_from(newest).unwrap_or(i64::MAX);
        let parameters: [Parameter<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&newest, Type::INT8)];
        let rows = self.query(lane, sql::ENTRIES, &parameters).await?;
        let mut histories: Vec<_> = jobs.iter().map(|_| Ok(Vec::new())).collect();
        for row in &rows {
            let (place, number, text): (i64, i64, String) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            let place = usize::try_from(place - 1).unwrap_or(usize::MAX);
            let (Some(job), Some(history)) = (jobs.get(place), histories.get_mut(place)) else {
                return Err(StoreError::Unknown("the store gave entries that were not asked for".into()));
            };
            match entry_of(job, &text) {
                Ok(entry) => {
                    if let Ok(entries) = history {
                        entries.push(NumberedEntry { number, entry });
                    }
                }
                Err(error) => *history = Err(error),
            }
        }
        Ok(histories)
    }

    async fn exchange_texts(
        &self,
        puts: &[Put],
        of_time: Option<UtcMillis>,
        folders: &[NoteKind],
    ) -> Result<Exchanged, StoreError> {
        let of_puts = |part: fn(&Put) -> &str| puts.iter().map(part).collect::<Vec<&str>>();
        let (into, names) = (of_puts(|put| put.folder.as_str()), of_puts(|put| &put.name));
        let texts = of_puts(|put| &put.text);
        let numbers: Vec<Option<i64>> = puts.iter().map(|put| put.number.map(u64::cast_signed)).collect();
        let of_time = of_time.map(|time| time.0);
        let read: Vec<&str> = folders.iter().map(|folder| folder.as_str()).collect();
        let fading = [NoteKind::Nodes.as_str(), NoteKind::Notices.as_str()];
        let (fading, limits) = (&fading[..], &[FORGET_NODES_MS, FORGET_NOTICES_MS][..]);
        let parameters: [Parameter<'_>; 8] = [
            (&into, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&texts, Type::TEXT_ARRAY),
            (&numbers, Type::INT8_ARRAY),
            (&read, Type::TEXT_ARRAY),
            (&fading, Type::TEXT_ARRAY),
            (&limits, Type::INT8_ARRAY),
            (&of_time, Type::INT8),
        ];
        let rows = self.query(RequestLane::Others, &sql::EXCHANGE, &parameters).await?;
        let moment = rows.first().map(moment_of).transpose()?;
        let moment = moment.ok_or_else(|| StoreError::Unknown("the store's answer is empty".into()))?;
        if of_time.is_some() && rows.iter().any(|row| get::<i64>(row, 6) == Ok(0)) {
            return Err(StoreError::Refused("the heartbeat reached the store more than a second late, and was not stored: the next one is".into()));
        }
        let mut lists: Vec<Vec<Note>> = vec![Vec::new(); folders.len()];
        for row in &rows {
            let Some(folder) = get::<Option<String>>(row, 2)? else { continue };
            let note = Note { name: get(row, 3)?, at: UtcMillis(get(row, 4)?), text: get(row, 5)? };
            let place = read.iter().position(|name| *name == folder);
            place.and_then(|place| lists.get_mut(place)).into_iter().for_each(|list| list.push(note.clone()));
        }
        Ok((lists, moment))
    }

    async fn store_marker(&self, former: Option<&Marker>, marker: &Marker) -> Result<(), StoreError> {
        let former = former.map(|former| former.0.as_str());
        let parameters: [Parameter<'_>; 2] = [(&former, Type::TEXT), (&marker.0, Type::TEXT)];
        self.query(RequestLane::Others, &sql::MARKER, &parameters).await.map(drop)
    }

    async fn append_line(&self, feed: Feed, line: &str, wake: &str) -> Result<(), StoreError> {
        let (name, message) = (feed.as_str(), self.message(wake));
        let kept = i64::try_from(feed.kept()).unwrap_or(i64::MAX);
        let parameters: [Parameter<'_>; 4] =
            [(&name, Type::TEXT), (&line, Type::TEXT), (&kept, Type::INT8), (&message, Type::TEXT)];
        self.query(RequestLane::Others, &sql::APPEND, &parameters).await.map(drop)
    }

    async fn newest_lines(
        &self,
        feed: Feed,
        after: Option<FeedId>,
        count: usize,
    ) -> Result<Vec<FeedLine>, StoreError> {
        let (name, count) = (feed.as_str(), i64::try_from(count).unwrap_or(i64::MAX));
        let after = after.map_or(0, |id| i64::try_from(id.first).unwrap_or(i64::MAX));
        let parameters: [Parameter<'_>; 3] =
            [(&name, Type::TEXT), (&after, Type::INT8), (&count, Type::INT8)];
        let rows = self.query(RequestLane::Others, sql::NEWEST, &parameters).await?;
        let line = |row: &Row| {
            let (number, line): (i64, String) = (get(row, 0)?, get(row, 1)?);
            let id = FeedId { first: number.unsigned_abs(), second: 0 };
            Ok(FeedLine { id, text: Some(line).filter(|line| line.len() <= LONGEST_LINE) })
        };
        rows.iter().rev().map(line).collect()
    }

    async fn leave_text(
        &self,
        slip: &Slip,
        text: &str,
        ttl: Duration,
        wake: &str,
    ) -> Result<Option<SlipLoad>, StoreError> {
        let (name, message) = (slip.to_string(), self.message(wake));
        let (ttl, longest) = (millis(ttl), millis(LONGEST_TTL));
        let (most_bytes, most_texts) = (SLIP_BYTES as i64, SLIP_TEXTS as i64);
        let parameters: [Parameter<'_>; 7] = [
            (&name, Type::TEXT),
            (&text, Type::TEXT),
            (&ttl, Type::INT8),
            (&most_bytes, Type::INT8),
            (&most_texts, Type::INT8),
            (&message, Type::TEXT),
            (&longest, Type::INT8),
        ];
        let rows = self.query(RequestLane::Others, &sql::LEAVE, &parameters).await?;
        let row = rows.first().ok_or_else(|| StoreError::Unknown("the store's answer is empty".into()))?;
        let size = |at| get::<i64>(row, at).map(|size| usize::try_from(size).unwrap_or_default());
        let (taken, texts, bytes) = (size(0)?, size(1)?, size(2)?);
        Ok((taken == 0).then_some(SlipLoad { bytes, texts }))
    }

    async fn collect_texts(&self, slip: &Slip) -> Result<Vec<String>, StoreError> {
        let (name, longest) = (slip.to_string(), millis(LONGEST_TTL));
        let parameters: [Parameter<'_>; 2] = [(&name, Type::TEXT), (&longest, Type::INT8)];
        let rows = self.query(RequestLane::Others, &sql::COLLECT, &parameters).await?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let (texts, is_live): (Vec<String>, bool) = (get(row, 0)?, get(row, 1)?);
        let bytes: usize = texts.iter().map(String::len).sum();
        if texts.len() > SLIP_TEXTS || bytes > SLIP_BYTES {
            let sentence = format!(
                "slip `{slip}` held {bytes} bytes in {} texts, which solocron did not write",
                texts.len()
            );
            return Err(StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence)));
        }
        Ok(if is_live { texts } else { Vec::new() })
    }
}

impl Engine for PostgresEngine {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(self.others.ready())
    }

    fn read<'a>(&'a self, lane: RequestLane, jobs: &'a [JobName]) -> Answered<'a, ReadCells> {
        Box::pin(self.read_cells(lane, jobs))
    }

    fn swap<'a>(
        &'a self,
        lane: RequestLane,
        swaps: &'a [CellSwap],
        beat: Option<&'a ConfirmedBeat>,
    ) -> Answered<'a, Vec<Option<UtcMillis>>> {
        Box::pin(self.swap_cells(lane, swaps, beat))
    }

    fn entries<'a>(
        &'a self,
        lane: RequestLane,
        jobs: &'a [JobName],
        newest: usize,
    ) -> Answered<'a, Vec<Result<Vec<NumberedEntry>, StoreError>>> {
        Box::pin(self.read_entries(lane, jobs, newest))
    }

    fn exchange<'a>(
        &'a self,
        puts: &'a [Put],
        of_time: Option<UtcMillis>,
        folders: &'a [NoteKind],
    ) -> Answered<'a, Exchanged> {
        Box::pin(self.exchange_texts(puts, of_time, folders))
    }

    fn replace_marker<'a>(&'a self, former: Option<&'a Marker>, marker: &'a Marker) -> Answered<'a, ()> {
        Box::pin(self.store_marker(former, marker))
    }

    fn append<'a>(&'a self, feed: Feed, line: &'a str, wake: &'a str) -> Answered<'a, ()> {
        Box::pin(self.append_line(feed, line, wake))
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        Box::pin(self.newest_lines(feed, after, count))
    }

    fn leave<'a>(
        &'a self,
        slip: &'a Slip,
        text: &'a str,
        ttl: Duration,
        wake: &'a str,
    ) -> Answered<'a, Option<SlipLoad>> {
        Box::pin(self.leave_text(slip, text, ttl, wake))
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        Box::pin(self.collect_texts(slip))
    }

    fn listen<T: Send + 'static>(&self, channel: Channel, parse: fn(&str) -> Option<T>) -> mpsc::Receiver<T> {
        if !self.publishes {
            return mpsc::channel(1).1;
        }
        let name = match channel {
            Channel::Hints => sql::HINTS,
            Channel::Wakes => sql::WAKES,
        };
        subscription::listen(self.address.clone(), name, self.cluster.clone(), self.label.clone(), parse)
    }

    fn inspect(&self, rights: bool) -> Answered<'_, Vec<Concern>> {
        Box::pin(inspect::inspect(&self.others, rights, self.is_exposed))
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}

/// Swaps as the statement takes them: a list per column.
struct SwapColumns {
    jobs: Vec<String>,
    versions: Vec<Option<i64>>,
    nonces: Vec<Option<i64>>,
    eras: Vec<String>,
    decided: Vec<i64>,
    new_nonces: Vec<i64>,
    records: Vec<String>,
    newest_numbers: Vec<Option<i64>>,
    newest: Vec<Option<String>>,
    hints: Vec<Option<String>>,
    /// Jobs, and numbers of their entries.
    removed: (Vec<String>, Vec<i64>),
    /// Jobs, numbers and entries.
    stored: (Vec<String>, Vec<i64>, Vec<String>),
}

impl SwapColumns {
    fn of(swaps: &[&CellSwap], publishes: bool) -> Self {
        let column = |part: fn(&CellSwap) -> Option<i64>| swaps.iter().map(|swap| part(swap)).collect();
        let text = |part: fn(&CellSwap) -> String| swaps.iter().map(|swap| part(swap)).collect();
        let mut removed = (Vec::new(), Vec::new());
        let mut stored = (Vec::new(), Vec::new(), Vec::new());
        for swap in swaps {
            for number in &swap.removed {
                removed.0.push(swap.job.to_string());
                removed.1.push(*number);
            }
            for NumberedEntry { number, entry } in &swap.entries {
                stored.0.push(swap.job.to_string());
                stored.1.push(*number);
                stored.2.push(fields_as_ascii_json(entry.to_fields()));
            }
        }
        let newest = |swap: &&CellSwap| {
            swap.cell.newest.as_ref().map(|newest| fields_as_ascii_json(newest.entry.to_fields()))
        };
        Self {
            jobs: text(|swap| swap.job.to_string()),
            versions: column(|swap| swap.conditions.version.map(|version| version.count.cast_signed())),
            nonces: column(|swap| swap.conditions.version.map(|version| version.nonce.cast_signed())),
            eras: text(|swap| swap.conditions.era.0.clone()),
            decided: swaps.iter().map(|swap| swap.conditions.now.0).collect(),
            new_nonces: swaps.iter().map(|swap| swap.cell.version.nonce.cast_signed()).collect(),
            records: text(|swap| fields_as_json(swap.cell.record.to_fields())),
            newest_numbers: column(|swap| swap.cell.newest.as_ref().map(|newest| newest.number)),
            newest: swaps.iter().map(newest).collect(),
            hints: swaps.iter().map(|swap| swap.hint.clone().filter(|_| publishes)).collect(),
            removed,
            stored,
        }
    }
}

/// Returns a value of a row.
fn get<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|error| {
        let sentence = format!("the store's answer cannot be read: {error}");
        StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence))
    })
}

/// Returns the state of the server in the first two columns.
fn moment_of(row: &Row) -> Result<ServerMoment, StoreError> {
    Ok(ServerMoment { now: UtcMillis(get(row, 0)?), era: Era(get(row, 1)?) })
}

fn cell_of(job: &JobName, row: &Row) -> Result<Option<JobCell>, StoreError> {
    let Some(count) = get::<Option<i64>>(row, 2)? else { return Ok(None) };
    let version = Version { count: count.cast_unsigned(), nonce: get::<i64>(row, 3)?.cast_unsigned() };
    let record = record_of(job, &get::<String>(row, 4)?)?;
    let newest = get::<Option<i64>>(row, 5)?.zip(get::<Option<String>>(row, 6)?);
    let newest =
        newest.map(|(number, text)| entry_of(job, &text).map(|entry| NumberedEntry { number, entry }));
    Ok(Some(JobCell { record, version, newest: newest.transpose()? }))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
