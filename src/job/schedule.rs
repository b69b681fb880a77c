//! Placeholder on the base branch: replaced by `schedule/`.
use super::{Tick, UtcMillis};
use std::ops::Range;

/// When a job runs.
#[derive(Debug, Clone)]
pub struct Schedule;

/// One problem of one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError {
    /// Which of the job's expressions, from 0; `None`: the time zone.
    pub expression: Option<usize>,
    /// Bytes of that text which are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

impl Schedule {
    /// Parses.
    pub fn parse(_hash_key: &str, _expressions: &[&str], _zone: &str) -> Result<Self, Vec<ScheduleError>> {
        Ok(Self)
    }
    /// First tick strictly after.
    pub fn next_after(&self, _at: UtcMillis) -> Option<Tick> {
        None
    }
    /// Newest tick at or before.
    pub fn at_or_before(&self, _at: UtcMillis) -> Option<Tick> {
        None
    }
    /// Hash of schedule and zone, 16 hex digits.
    pub fn fingerprint(&self) -> &str {
        ""
    }
    /// IANA name.
    pub fn zone_name(&self) -> &str {
        "UTC"
    }
    /// The tick in the job's zone, RFC 3339 with offset and milliseconds.
    pub fn local_text(&self, tick: Tick) -> String {
        tick.to_string()
    }
}
