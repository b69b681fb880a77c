//! Records and entries as named text fields: the one stored form, for Redis hashes and streams and for the embedded store
//! alike. An absent value is an empty text or a missing field in a record, and a missing field in an entry.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::job::{Fence, Tick, Verdict, quoted};
use crate::lease::{Era, HistoryEntry, LeaseInstant, Phase, Record, SCHEMA, ScheduleHash};
use crate::time::UtcMillis;

/// A stored field that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored field `{name}` holds `{value}`, which this release cannot read")]
pub struct FieldError {
    name: &'static str,
    value: String,
}

/// Stored fields by name.
type RecordFields = BTreeMap<String, String>;

/// Writes the fields of a record or an entry as JSON, as stores of tables keep them.
pub(crate) fn fields_as_json(fields: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let fields: BTreeMap<&str, String> = fields.into_iter().collect();
    serde_json::to_string(&fields).expect("texts are plain JSON")
}

/// Writes the fields of an entry as JSON of plain ASCII: a database of any encoding takes it, and no end of a run is refused for
/// what the job printed.
pub(crate) fn fields_as_ascii_json(fields: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let fields: BTreeMap<&str, String> = fields.into_iter().collect();
    let mut json = Serializer::with_formatter(Vec::new(), AsciiFormatter);
    fields.serialize(&mut json).expect("texts are plain JSON");
    String::from_utf8(json.into_inner()).expect("it is ASCII")
}

/// Writes every other character as an escape.
struct AsciiFormatter;

impl Formatter for AsciiFormatter {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        if text.is_ascii() {
            return writer.write_all(text.as_bytes());
        }
        text.encode_utf16().try_for_each(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => writer.write_all(&[byte]),
            _ => write!(writer, "\\u{unit:04x}"),
        })
    }
}

fn text<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(String::new, ToString::to_string)
}

fn number(value: Option<UtcMillis>) -> String {
    text(value.map(|at| at.0).as_ref())
}

fn optional<T: FromStr>(fields: &RecordFields, name: &'static str) -> Result<Option<T>, FieldError> {
    match fields.get(name).map(String::as_str) {
        None | Some("") => Ok(None),
        Some(value) => value.parse().map(Some).map_err(|_| FieldError { name, value: quoted(value) }),
    }
}

fn required<T: FromStr>(fields: &RecordFields, name: &'static str) -> Result<T, FieldError> {
    optional(fields, name)?.ok_or(FieldError { name, value: String::new() })
}

fn instant(fields: &RecordFields, name: &'static str) -> Result<Option<UtcMillis>, FieldError> {
    Ok(optional(fields, name)?.map(UtcMillis))
}

fn words(fields: &RecordFields, name: &str) -> String {
    fields.get(name).cloned().unwrap_or_default()
}

impl FromStr for Phase {
    type Err = ();
    fn from_str(value: &str) -> Result<Self, ()> {
        match value {
            "idle" => Ok(Self::Idle),
            "running" => Ok(Self::Running),
            _ => Err(()),
        }
    }
}

impl Phase {
    /// Returns the phase's word in the stored record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
        }
    }
}

impl Record {
    /// Returns the record's fields as stored, in the order in which the Redis scripts list them.
    pub fn to_fields(&self) -> [(&'static str, String); 42] {
        [
            ("schema", self.schema.to_string()),
            ("fence", self.fence.0.to_string()),
            ("mark", self.mark.0.to_string()),
            ("until", self.locked_until.0.to_string()),
            ("lease", self.lease.as_millis().to_string()),
            ("phase", self.phase.as_str().to_owned()),
            ("run", text(self.run.as_ref())),
            ("tick", text(self.tick.map(Tick::as_millis).as_ref())),
            ("tries", self.tries.to_string()),
            ("cause", text(self.cause.as_ref())),
            ("started", number(self.started)),
            ("ended", number(self.ended)),
            ("last", text(self.verdict.map(|verdict| verdict.outcome).as_ref())),
            ("reason", text(self.verdict.and_then(|verdict| verdict.reason).as_ref())),
            ("owner", text(self.owner.as_ref())),
            ("era", self.era.0.clone()),
            ("sched", self.schedule_hash.0.clone()),
            ("paused", number(self.paused)),
            ("order", text(self.order.as_ref())),
            ("stop", text(self.stop_run.as_ref())),
            ("lost", number(self.lost_after)),
            ("paused_at", number(self.paused_at)),
            ("paused_by", text(self.paused_by.as_ref())),
            ("paused_why", text(self.paused_why.as_ref())),
            ("stop_by", text(self.stop_requested_by.as_ref())),
            ("order_tick", text(self.order_tick.map(Tick::as_millis).as_ref())),
            ("order_at", number(self.order_at)),
            ("taken", text(self.order_taken.as_ref())),
            ("taken_run", text(self.order_taken_by.as_ref())),
            ("stop_for", text(self.stop_reason.as_ref())),
            ("settled", self.settles_at.0.to_string()),
            ("since", self.schedule_since.0.to_string()),
            ("leaps", self.leaps.to_string()),
            ("returned", self.reopened.0.to_string()),
            ("floor", self.floor.0.to_string()),
            ("made", self.created_mark.0.to_string()),
            ("returned_ahead", self.reopened_ahead.0.to_string()),
            ("returns_ahead", self.reopened_ahead_count.to_string()),
            ("ok", text(self.last_success_tick.map(Tick::as_millis).as_ref())),
            ("ok_at", number(self.last_success_end)),
            ("bad", self.failures_in_row.to_string()),
            ("bad_since", number(self.failing_since)),
        ]
    }

    /// Reads a stored record. Of a newer schema only the schema counts: if this release cannot read the other fields, the
    /// rest of the record is empty.
    ///
    /// # Errors
    ///
    /// Returns [`FieldError`] if a required field is missing or a field cannot be read.
    pub fn from_fields(fields: &RecordFields) -> Result<Self, FieldError> {
        let schema: u32 = required(fields, "schema")?;
        match Self::read_fields(fields) {
            Err(_) if schema > SCHEMA => Ok(Self { schema, ..Self::empty(Era::default()) }),
            result => result,
        }
    }

    fn read_fields(fields: &RecordFields) -> Result<Self, FieldError> {
        let reason = optional(fields, "reason")?;
        Ok(Self {
            schema: required(fields, "schema")?,
            fence: Fence(required(fields, "fence")?),
            mark: UtcMillis(required(fields, "mark")?),
            locked_until: LeaseInstant(required(fields, "until")?),
            lease: Duration::from_millis(required(fields, "lease")?),
            phase: required(fields, "phase")?,
            run: optional(fields, "run")?,
            tick: optional(fields, "tick")?.map(Tick::at_millis),
            tries: required(fields, "tries")?,
            cause: optional(fields, "cause")?,
            started: instant(fields, "started")?,
            ended: instant(fields, "ended")?,
            verdict: optional(fields, "last")?.map(|outcome| Verdict { outcome, reason }),
            owner: optional(fields, "owner")?,
            era: Era(words(fields, "era")),
            schedule_hash: ScheduleHash(words(fields, "sched")),
            paused: instant(fields, "paused")?,
            order: optional(fields, "order")?,
            stop_run: optional(fields, "stop")?,
            lost_after: instant(fields, "lost")?,
            paused_at: instant(fields, "paused_at")?,
            paused_by: optional(fields, "paused_by")?,
            paused_why: optional(fields, "paused_why")?,
            stop_requested_by: optional(fields, "stop_by")?,
            order_tick: optional(fields, "order_tick")?.map(Tick::at_millis),
            order_at: instant(fields, "order_at")?,
            order_taken: optional(fields, "taken")?,
            order_taken_by: optional(fields, "taken_run")?,
            stop_reason: optional(fields, "stop_for")?,
            settles_at: optional(fields, "settled")?.map_or(LeaseInstant::FREE, LeaseInstant),
            schedule_since: instant(fields, "since")?.unwrap_or_default(),
            leaps: optional(fields, "leaps")?.unwrap_or_default(),
            reopened: instant(fields, "returned")?.unwrap_or_default(),
            floor: Fence(optional(fields, "floor")?.unwrap_or_default()),
            created_mark: instant(fields, "made")?.unwrap_or_default(),
            reopened_ahead: instant(fields, "returned_ahead")?.unwrap_or_default(),
            reopened_ahead_count: optional(fields, "returns_ahead")?.unwrap_or_default(),
            last_success_tick: optional(fields, "ok")?.map(Tick::at_millis),
            last_success_end: instant(fields, "ok_at")?,
            failures_in_row: optional(fields, "bad")?.unwrap_or_default(),
            failing_since: instant(fields, "bad_since")?,
        })
    }
}

impl HistoryEntry {
    /// Returns the entry's fields as stored: only those that apply.
    pub fn to_fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("tick", self.tick.as_millis().to_string())];
        let optional = [
            ("after", self.after.map(|at| at.0.to_string())),
            ("count", self.count.map(|count| count.to_string())),
            ("run", self.run.map(|run| run.to_string())),
            ("node", self.node.as_ref().map(ToString::to_string)),
            ("fence", self.fence.map(|fence| fence.to_string())),
            ("attempt", self.attempt.map(|attempt| attempt.to_string())),
            ("cause", Some(self.cause.to_string())),
            ("outcome", Some(self.outcome.to_string())),
            ("reason", self.reason.map(|reason| reason.to_string())),
            ("exit_code", self.exit_code.map(|code| code.to_string())),
            ("signal", self.signal.map(|signal| signal.to_string())),
            ("started", self.started.map(|at| at.0.to_string())),
            ("finished", Some(self.finished.0.to_string())),
            ("tail", self.tail.clone()),
        ];
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        fields
    }

    /// Reads a stored entry.
    ///
    /// # Errors
    ///
    /// Returns [`FieldError`] if a required field is missing or a field cannot be read.
    pub fn from_fields(fields: &RecordFields) -> Result<Self, FieldError> {
        Ok(Self {
            tick: Tick::at_millis(required(fields, "tick")?),
            after: instant(fields, "after")?,
            count: optional(fields, "count")?,
            run: optional(fields, "run")?,
            node: optional(fields, "node")?,
            fence: optional(fields, "fence")?.map(Fence),
            attempt: optional(fields, "attempt")?,
            cause: required(fields, "cause")?,
            outcome: required(fields, "outcome")?,
            reason: optional(fields, "reason")?,
            exit_code: optional(fields, "exit_code")?,
            signal: optional(fields, "signal")?,
            started: instant(fields, "started")?,
            finished: UtcMillis(required(fields, "finished")?),
            tail: fields.get("tail").filter(|tail| !tail.is_empty()).cloned(),
        })
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
