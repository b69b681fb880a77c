//! What `status` prints for people: a sentence for each thing that is wrong, and two tables.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::print::style::TextStyle;
use crate::cli::print::table::{Cell, Table};
use crate::job::{JobName, quoted};
use crate::time::UtcMillis;
use crate::view::job::{JobCondition, JobConditions, JobState, NOT_IN_FILE};
use crate::view::problems::Kind;
use crate::view::snapshot::Snapshot;
use crate::view::status::{JobView, LockView, PausedView, ReplicaView, RunView, StatusView};
use crate::view::text::short_text::{short_hash, short_id};
use crate::view::text::sparkline::{SparkSigns, Sparkline};
use crate::view::text::time_format::{Rfc3339, from_now, span, utc};

/// The column HISTORY shows this many of a job's newest ticks.
pub(super) const TICKS: usize = 20;

/// How the text is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusLook {
    /// The width of the terminal; `None` if stdout is no terminal.
    pub(super) columns: Option<usize>,
    /// The signs of sparklines.
    pub(super) signs: SparkSigns,
    /// How many of each job's newest ticks are shown beside the others; with a single one, none is drawn.
    pub(super) ticks: usize,
}

/// Returns the whole text. The jobs of `view` are those of the snapshot.
pub(super) fn text(view: &StatusView, snapshot: &Snapshot, look: StatusLook) -> String {
    let now = snapshot.now;
    let mut text = headline(view);
    for problem in &view.problems {
        text.push_str(&format!("  {} {}\n", TextStyle::Bad.paint("-"), problem.message));
    }
    if !view.replicas.is_empty() {
        text.push('\n');
        text.push_str(&replicas(&view.replicas, now, look));
    }
    if view.replicas.iter().any(|replica| replica.live && replica.same_file == Some(false)) {
        let sign = differs(look.signs);
        text.push_str(
            &TextStyle::Quiet
                .paint(&format!("{sign}: the replica has loaded another jobs.toml than this command\n")),
        );
    }
    if !view.jobs.is_empty() {
        text.push('\n');
        if view.jobs.len() > 1 {
            text.extend(counts(view, snapshot));
        }
        text.push_str(&jobs(view, snapshot, look));
        text.extend(view.jobs.iter().filter_map(|job| paused(job, now)));
    }
    text
}

/// Returns `ok: 3 replicas, 12 jobs`, or the number of problems.
fn headline(view: &StatusView) -> String {
    match view.problems.len() {
        0 => {
            let live = view.replicas.iter().filter(|replica| replica.live).count();
            let (replicas, jobs) = (counted(live, "replica"), counted(view.jobs.len(), "job"));
            format!("{}: {replicas}, {jobs}\n", TextStyle::Good.paint("ok"))
        }
        1 => format!("{}\n", TextStyle::Bad.paint("1 problem")),
        many => format!("{}\n", TextStyle::Bad.paint(&format!("{many} problems"))),
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Returns the jobs of which a tick should have been decided by now.
pub(super) fn late_jobs(view: &StatusView) -> BTreeSet<&JobName> {
    let overdue = view.problems.iter().filter(|problem| problem.kind == Kind::Overdue);
    overdue.filter_map(|problem| problem.job.as_ref()).collect()
}

/// Returns the conditions of a job of the snapshot.
pub(super) fn conditions_of(
    job: &JobState,
    snapshot: &Snapshot,
    late: &BTreeSet<&JobName>,
) -> impl Iterator<Item = JobCondition> + use<> {
    let conditions = JobConditions::of(job, snapshot, late.contains(&job.name));
    JobCondition::ALL.into_iter().filter(move |condition| conditions.has(*condition))
}

/// Returns `of 12 jobs: 2 failing, 1 running, 1 disabled`; `None` if no job is in any condition.
fn counts(view: &StatusView, snapshot: &Snapshot) -> Option<String> {
    let late = late_jobs(view);
    let all: Vec<JobCondition> =
        snapshot.jobs.iter().flat_map(|job| conditions_of(job, snapshot, &late)).collect();
    let counted = |condition: JobCondition| {
        let count = all.iter().filter(|other| **other == condition).count();
        (count > 0).then(|| format!("{count} {}", condition.as_str()))
    };
    let counts: Vec<String> = JobCondition::ALL.into_iter().filter_map(counted).collect();
    (!counts.is_empty()).then(|| format!("of {} jobs: {}\n", snapshot.jobs.len(), counts.join(", ")))
}

/// Returns the sign of a file that differs.
const fn differs(signs: SparkSigns) -> &'static str {
    match signs {
        SparkSigns::Unicode => "≠",
        SparkSigns::Ascii => "!=",
    }
}

fn replicas(replicas: &[ReplicaView], now: UtcMillis, look: StatusLook) -> String {
    let mut table = Table::new(&[
        "REPLICA",
        "STATE",
        "UP",
        "HEARTBEAT",
        "VERSION",
        "FILE",
        "LABELS",
        "LATE p50/p99",
        "RUNNING",
    ]);
    for replica in replicas {
        let Rfc3339(started) = replica.started;
        let Rfc3339(heard) = replica.heard;
        let (state, style) = match (replica.live, replica.draining) {
            (true, false) if replica.full => ("full", TextStyle::Warning),
            (true, false) => ("live", TextStyle::Good),
            (true, true) => ("draining", TextStyle::Warning),
            (false, true) => ("stopped", TextStyle::Quiet),
            (false, false) => ("down", TextStyle::Bad),
        };
        let hash = short_hash(&replica.file).to_owned();
        let (file, file_tone) = if replica.same_file == Some(false) {
            (format!("{hash} {}", differs(look.signs)), TextStyle::Warning)
        } else {
            (hash, TextStyle::Plain)
        };
        let jobs = |runs: &[RunView]| runs.iter().map(|run| run.job.as_str()).collect::<Vec<_>>().join(" ");
        let (was, running) = (jobs(&replica.was_running), jobs(&replica.running));
        let running = if was.is_empty() {
            Cell::plain(running)
        } else {
            Cell::new(format!("was {was}"), TextStyle::Bad)
        };
        let labels: Vec<&str> = replica.labels.iter().map(|label| label.as_str()).collect();
        table.row(vec![
            Cell::plain(&replica.node),
            Cell::new(state, style),
            Cell::maybe(replica.live.then(|| span(now.since(started)))),
            Cell::plain(from_now(heard, now)),
            Cell::plain(&replica.version),
            Cell::new(file, file_tone),
            Cell::plain(labels.join(" ")),
            Cell::maybe(late(replica)),
            running,
        ]);
    }
    table.fit(look.columns, &["VERSION", "FILE", "LATE p50/p99", "LABELS", "UP"]);
    table.render()
}

/// Returns `2ms/15ms`: half of the replica's starts were at most 2 ms late, and 99 of 100 at most 15 ms.
fn late(replica: &ReplicaView) -> Option<String> {
    let late = replica.stages.iter().find(|times| times.stage == "late")?;
    let [usual, worst] = [late.p50_us, late.p99_us].map(|micros| span(Duration::from_micros(micros)));
    Some(format!("{usual}/{worst}"))
}

fn jobs(view: &StatusView, snapshot: &Snapshot, look: StatusLook) -> String {
    let now = snapshot.now;
    let mut table = Table::new(&["JOB", "HISTORY", "NEXT", "LAST", "ENDED", "ON", "LOCK", "RUN"]);
    for (job, state) in view.jobs.iter().zip(&snapshot.jobs) {
        let (last, held) = (job.last.as_ref(), job.lock.as_ref());
        table.row(vec![
            Cell::plain(&job.job),
            Cell::maybe(history(state, look)),
            next(job, now),
            last.map_or_else(
                || Cell::plain(""),
                |last| Cell::new(last.verdict(), TextStyle::of(last.outcome)),
            ),
            Cell::maybe(last.and_then(|last| last.finished).map(|Rfc3339(at)| from_now(at, now))),
            Cell::maybe(last.and_then(|last| last.node.as_ref())),
            held.map_or_else(|| Cell::plain(""), |held| lock(held, now)),
            Cell::maybe(held.and_then(|held| held.run).map(|run| short_id(&run.to_string()).to_owned())),
        ]);
    }
    table.fit(look.columns, &["RUN", "HISTORY", "ON", "ENDED"]);
    table.render()
}

/// Returns the job's newest ticks, one sign each.
fn history(job: &JobState, look: StatusLook) -> Option<String> {
    let from = job.entries.len().saturating_sub(look.ticks);
    let newest = job.entries.get(from..).filter(|newest| look.ticks > 1 && !newest.is_empty())?;
    Some(Sparkline::of(newest).terminal(look.signs))
}

fn next(job: &JobView, now: UtcMillis) -> Cell {
    match (&job.next, job.paused_until) {
        _ if job.in_file == Some(false) => Cell::new(NOT_IN_FILE, TextStyle::Quiet),
        _ if job.enabled == Some(false) => Cell::new("not enabled", TextStyle::Quiet),
        (None, _) if job.enabled.is_some() => Cell::new("never again", TextStyle::Warning),
        (_, Some(Rfc3339(until))) => {
            Cell::new(format!("paused, ends {}", from_now(until, now)), TextStyle::Warning)
        }
        (_, None) if job.paused.is_some() => Cell::new("paused", TextStyle::Warning),
        (Some(Rfc3339(at)), None) => Cell::plain(from_now(*at, now)),
        (None, None) => Cell::new("?", TextStyle::Quiet),
    }
}

/// Returns `` `backup` is paused by ann@db1 since 2026-11-20 12:00:00 UTC (3m ago) until …: month end``.
fn paused(job: &JobView, now: UtcMillis) -> Option<String> {
    let PausedView { by, since, reason } = job.paused.as_ref()?;
    let by = by.as_ref().map_or(String::new(), |by| format!(" by {}", quoted(by)));
    let since =
        since.map_or(String::new(), |Rfc3339(at)| format!(" since {} UTC ({})", utc(at), from_now(at, now)));
    let until = job
        .paused_until
        .map_or(format!("`solocron resume {}`", job.job), |Rfc3339(until)| format!("{} UTC", utc(until)));
    let why = reason.as_ref().map_or(String::new(), |why| format!(": {}", quoted(why)));
    Some(TextStyle::Warning.paint(&format!("`{}` is paused{by}{since} until {until}{why}", job.job)) + "\n")
}

/// Returns `n1 for 3m 10s`.
fn lock(lock: &LockView, now: UtcMillis) -> Cell {
    let node = lock.node.as_ref().map_or("?".to_owned(), ToString::to_string);
    let held = lock.since.map_or(String::new(), |Rfc3339(since)| format!(" for {}", span(now.since(since))));
    let (lost, style) =
        if lock.live { ("", TextStyle::InProgress) } else { (" (no heartbeat)", TextStyle::Bad) };
    Cell::new(format!("{node}{held}{lost}"), style)
}
