//! What `status JOB` prints for people below the tables: the job's schedule and policies, its coming ticks, how it stands, its
//! newest ticks in one line, its newest success, the failures since, its last runs, and the last acts on it.

use crate::cli::read::{acts, history};
use crate::job::{CatchUp, JobSpec, OnInterrupt, Overlap, Tick, format_duration};
use crate::lease::Record;
use crate::operate::audit::ActNote;
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::{JobCondition, JobState, NEW, WELL};
use crate::view::snapshot::Snapshot;
use crate::view::status::StatusView;
use crate::view::text::sparkline::Sparkline;
use crate::view::text::time_format::{from_now, local, utc};

use super::table::{StatusLook, conditions_of, late_jobs};

/// How many of its last ticks, and of its coming ticks, are shown.
const LAST: usize = 5;
const COMING: usize = 3;

/// The column at which the values begin.
const INDENT: usize = 13;

/// Returns the page of the requested job.
pub(super) fn text(job: &JobState, snapshot: &Snapshot, view: &StatusView, look: StatusLook) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:INDENT$}{value}\n"));
    if let Some(spec) = job.spec() {
        let expressions: Vec<&str> = spec.schedule.expressions().collect();
        let (expressions, zone) = (expressions.join("  "), spec.schedule.zone_name());
        line("schedule", format!("{expressions}  ({zone}): {}", spec.schedule.words()));
        spec.description.iter().for_each(|description| line("description", description.clone()));
        line("policies", policies(spec));
        for (at, tick) in coming(job, spec, snapshot).enumerate() {
            let name = if at == 0 { "next" } else { "" };
            line(
                name,
                format!("{} ({})", local(&spec.schedule, tick), from_now(tick.instant(), snapshot.now)),
            );
        }
    }
    let conditions = conditions_of(job, snapshot, &late_jobs(view));
    let conditions: Vec<&str> = conditions.map(JobCondition::as_str).collect();
    match &conditions[..] {
        // What cannot be read of it is a problem of its own.
        [] if job.unread.is_some() => {}
        [] => line("state", (if job.has_never_succeeded() { NEW } else { WELL }).to_owned()),
        conditions => line("state", conditions.join(", ")),
    }
    if !job.entries.is_empty() {
        let ticks = Sparkline::of(&job.entries);
        line("ticks", ticks.terminal(look.signs));
        line("", ticks.title().to_owned());
    }
    if let Some(record) = &job.record {
        let never = job.has_never_succeeded().then(|| "never".to_owned());
        last_success(record, snapshot.now)
            .or(never)
            .into_iter()
            .for_each(|value| line("last success", value));
        failing(record, snapshot.now).into_iter().for_each(|value| line("failing", value));
    }
    line("output", format!("`solocron logs {}`", job.name));
    let past: Vec<TickView> = job.past().collect();
    if !past.is_empty() {
        let from = past.len().saturating_sub(LAST);
        text.push('\n');
        text.push_str(&history::table::text(&past[from..], true, snapshot, look.columns));
    }
    text
}

/// Returns the last acts on the job, as `acts` shows them, or why they cannot be read.
pub(super) fn acts(notes: &Result<Vec<ActNote>, String>, look: StatusLook) -> String {
    match notes {
        Ok(notes) if notes.is_empty() => String::new(),
        Ok(notes) => format!("\n{}", acts::table::text(notes, true, &|_| false, look.columns)),
        Err(why) => format!("\nthe last acts on it cannot be read: {why}\n"),
    }
}

fn coming<'a>(job: &JobState, spec: &'a JobSpec, snapshot: &Snapshot) -> impl Iterator<Item = Tick> + 'a {
    let is_enabled = spec.enabled && job.unread.is_none();
    spec.schedule.ticks_after(snapshot.now).take(if is_enabled { COMING } else { 0 })
}

/// Returns `2026-11-20 12:05:00 UTC, ended 1h 56m ago`.
fn last_success(record: &Record, now: UtcMillis) -> Option<String> {
    let (tick, end) = record.last_success_tick.zip(record.last_success_end)?;
    Some(format!("{} UTC, ended {}", utc(tick.instant()), from_now(end, now)))
}

/// Returns `2 ticks in a row since 2026-11-20 13:00:04 UTC (1h 0m ago)`.
fn failing(record: &Record, now: UtcMillis) -> Option<String> {
    let since = record.failing_since?;
    let ticks = match record.failures_in_row {
        1 => "1 tick".to_owned(),
        many => format!("{many} ticks in a row"),
    };
    Some(format!("{ticks} since {} UTC ({})", utc(since), from_now(since, now)))
}

/// Returns `lease 30s, timeout 1h, overlap skip, …`.
fn policies(spec: &JobSpec) -> String {
    let overlap = match spec.overlap {
        Overlap::Skip => "skip",
        Overlap::Wait => "wait",
        Overlap::Replace => "replace",
    };
    let mut all = vec![format!("lease {}", format_duration(spec.lease))];
    all.extend(spec.timeout.map(|timeout| format!("timeout {}", format_duration(timeout))));
    all.push(format!("overlap {overlap}"));
    all.extend(spec.start_deadline.map(|limit| format!("start_deadline {}", format_duration(limit))));
    all.extend((spec.catch_up == CatchUp::Last).then(|| "catch_up last".to_owned()));
    all.extend((spec.on_interrupt == OnInterrupt::Rerun).then(|| "on_interrupt rerun".to_owned()));
    all.extend((spec.retries > 0).then(|| format!("retries {}", spec.retries)));
    all.join(", ")
}
