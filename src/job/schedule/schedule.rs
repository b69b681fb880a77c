//! The schedule of a job: its ticks in both directions, from the year 1900 to the end of jiff's calendar.
//! `next_after` and `at_or_before` are exact inverses of each other.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use sha2::{Digest, Sha256};

use crate::job::Tick;
use crate::time::UtcMillis;

use super::calendar::zone::{EARLIEST, Zone};
use super::error::ScheduleError;
use super::parse::expression::Expression;
use super::parse::slot::Slots;
use super::words;

/// The number of coming ticks from which [`Schedule::shortest_period`] computes the period.
const TICKS_PER_HINT: usize = 8;

/// When a job runs: the union of one or more cron expressions, in a time zone. Cheap to clone.
#[derive(Clone)]
pub struct Schedule(Arc<Plan>);

/// What the clones of a schedule share.
struct Plan {
    /// The expressions as written, with single spaces.
    texts: Vec<String>,
    /// The same, parsed.
    expressions: Vec<Expression>,
    zone: Zone,
    fingerprint: String,
}

impl Schedule {
    /// Parses a job's expressions and the IANA name of its zone. `hash_key`, the job's name, chooses the slots of `H`.
    ///
    /// An expression is five fields (minute, hour, day of month, month, day of week), six with seconds first, or a macro:
    /// `@hourly` and the like, or `@every 90s`, counted from the Unix epoch. A field is a list of `*`, values or names,
    /// ranges, steps (`*/5`, `10-40/5`, `5/15`) and hashed slots (`H`, `H/15`, `H(0-29)`). Days of the month may be `L`,
    /// `L-3`, `15W`, `LW`; days of the week `5L`, `5#2`; either may be `?`.
    ///
    /// # Errors
    /// All problems at once, each with its place in its text.
    pub fn parse(hash_key: &str, expressions: &[&str], zone: &str) -> Result<Self, Vec<ScheduleError>> {
        let mut errors = Vec::new();
        let mut read = Vec::new();
        for (index, text) in expressions.iter().enumerate() {
            match Expression::parse(text, Slots::of(hash_key)) {
                Ok(expression) => read.push(expression),
                Err(problems) => errors.extend(problems.into_iter().map(|problem| problem.of(Some(index)))),
            }
        }
        if expressions.is_empty() {
            errors.push(no_expression());
        }
        match Zone::parse(zone) {
            Err(problem) => errors.push(problem.of(None)),
            Ok(zone) if errors.is_empty() => {
                let texts: Vec<String> = expressions.iter().map(|text| with_single_spaces(text)).collect();
                let fingerprint = fingerprint(&texts, zone.name(), hash_key);
                return Ok(Self(Arc::new(Plan { texts, expressions: read, zone, fingerprint })));
            }
            Ok(_) => {}
        }
        Err(errors)
    }

    /// Returns the first tick strictly after an instant; `None` if there is none before jiff's calendar ends.
    pub fn next_after(&self, at: UtcMillis) -> Option<Tick> {
        let second = at.0.div_euclid(1_000).saturating_add(1);
        let from = Timestamp::from_second(second.max(EARLIEST.as_second())).ok()?;
        let next = self.0.expressions.iter().filter_map(|one| one.at_or_after(&self.0.zone, from)).min()?;
        Some(Tick::at_millis(next.as_millisecond()))
    }

    /// Returns the newest tick at or before an instant; `None` if there is none since the year 1900.
    pub fn at_or_before(&self, at: UtcMillis) -> Option<Tick> {
        let second = at.0.div_euclid(1_000).min(Timestamp::MAX.as_second());
        let from = Timestamp::from_second(second.max(Timestamp::MIN.as_second())).ok()?;
        let newest =
            self.0.expressions.iter().filter_map(|one| one.at_or_before(&self.0.zone, from)).max()?;
        (newest >= EARLIEST).then(|| Tick::at_millis(newest.as_millisecond()))
    }

    /// Whether an instant is a tick.
    pub fn has_tick_at(&self, at: UtcMillis) -> bool {
        self.at_or_before(at).map(Tick::instant) == Some(at)
    }

    /// Returns a hash of schedule and zone, 16 hex digits. It is the same for the same expressions in any order, and in
    /// every release.
    pub fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// Returns the zone's name as IANA writes it.
    pub fn zone_name(&self) -> &str {
        self.0.zone.name()
    }

    /// Returns the expressions as written, with single spaces.
    pub fn expressions(&self) -> impl Iterator<Item = &str> {
        self.0.texts.iter().map(String::as_str)
    }

    /// Returns the expressions in words, without the zone: `at 02:30 every day`.
    pub fn words(&self) -> String {
        self.0.expressions.iter().map(words::of).collect::<Vec<_>>().join("; ")
    }

    /// Returns the tick in the job's zone, as RFC 3339 with offset and milliseconds: `2026-03-29T03:00:00.000+02:00`.
    pub fn local_text(&self, tick: Tick) -> String {
        let at = tick.instant().timestamp();
        format!("{:.3}", at.display_with_offset(self.0.zone.offset(at)))
    }

    /// Returns the instants at which clocks in the job's zone show this time, oldest first: none in a spring gap, two
    /// in an autumn overlap.
    pub fn instants_of(&self, civil: DateTime) -> Vec<UtcMillis> {
        self.0.zone.instants(civil).into_iter().map(UtcMillis::from_timestamp).collect()
    }

    /// Returns the ticks after an instant, in order, without end.
    pub(crate) fn ticks_after(&self, after: UtcMillis) -> impl Iterator<Item = Tick> {
        std::iter::successors(self.next_after(after), |tick| self.next_after(tick.instant()))
    }

    /// Returns the shortest distance between the next few ticks after an instant, for warnings. [`Duration::MAX`] if
    /// fewer than two are left.
    pub fn shortest_period(&self, at: UtcMillis) -> Duration {
        let ticks: Vec<Tick> = self.ticks_after(at).take(TICKS_PER_HINT).collect();
        let distances = ticks.windows(2).map(|pair| pair[1].instant().since(pair[0].instant()));
        distances.min().unwrap_or(Duration::MAX)
    }
}

impl PartialEq for Schedule {
    /// Whether both have the same zone and the same expressions, in any order.
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("expressions", &self.0.texts)
            .field("zone", &self.zone_name())
            .finish()
    }
}

fn no_expression() -> ScheduleError {
    let help = Some("write one, e.g. `30 2 * * *`".to_owned());
    ScheduleError { expression: None, span: 0..0, message: "schedule is an empty list".to_owned(), help }
}

fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Any change here makes every running cluster treat all its schedules as edited.
fn fingerprint(texts: &[String], zone: &str, hash_key: &str) -> String {
    let mut sorted: Vec<&str> = texts.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut hash = Sha256::new();
    for text in &sorted {
        hash.update(text);
        hash.update("\n");
    }
    hash.update(zone);
    if sorted.iter().any(|text| Expression::is_hashed(text)) {
        hash.update("\n");
        hash.update(hash_key);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
