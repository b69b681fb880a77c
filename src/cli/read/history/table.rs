//! What `history` prints for people: one line per tick. The usual is left out: the cause `schedule`, a first attempt, exit code
//! 0, a start within a second.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::print::style::TextStyle;
use crate::cli::print::table::{Cell, Table};
use crate::job::{Cause, JobName};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::{Definition, NOT_IN_FILE};
use crate::view::snapshot::Snapshot;
use crate::view::text::short_text::short_id;
use crate::view::text::time_format::{Rfc3339, span, utc};

/// A run that started within this time after its instant was not late.
const IN_TIME: Duration = Duration::from_secs(1);

/// Where the time of day begins in `2026-11-20 12:00:00`, and where the month does.
const TIME_AT: usize = 11;
const MONTH_AT: usize = 5;

/// The columns that are left out first if the terminal is too narrow.
const OPTIONAL: [&str; 2] = ["LATE", "RUN"];

/// Returns the table, for a terminal of this width. If it shows one job only, it has the beginning of each run's id, which
/// `logs JOB --run ID` takes.
pub(crate) fn text(
    past: &[TickView],
    is_one_job: bool,
    snapshot: &Snapshot,
    columns: Option<usize>,
) -> String {
    let absent = snapshot.jobs.iter().filter(|job| matches!(job.definition, Definition::Absent));
    let absent: BTreeSet<&JobName> = absent.map(|job| &job.name).collect();
    let job = |name: &JobName| match absent.contains(name) {
        true => format!("{name} ({NOT_IN_FILE})"),
        false => name.to_string(),
    };
    let now = snapshot.now;
    let headings = ["TICK (UTC)", "ENDED", "JOB", "OUTCOME", "NODE", "LATE", "TOOK", "RUN"];
    let mut table = Table::new(&headings);
    for tick in past {
        let Rfc3339(at) = tick.tick;
        let late = tick.late().filter(|late| *late >= IN_TIME && tick.cause != Some(Cause::Manual));
        let run = tick.run.filter(|_| is_one_job).map(|run| short_id(&run.to_string()).to_owned());
        table.row(vec![
            Cell::plain(beside(at, now, MONTH_AT)),
            Cell::maybe(tick.finished.map(|Rfc3339(ended)| beside(ended, at, TIME_AT))),
            Cell::maybe((!is_one_job).then(|| job(&tick.job))),
            Cell::new(outcome(tick), TextStyle::of(tick.outcome)),
            Cell::maybe(tick.node.as_ref()),
            Cell::maybe(late.map(span)),
            Cell::maybe(tick.took(now).map(span)),
            Cell::maybe(run),
        ]);
    }
    table.fit(columns, &OPTIONAL);
    let folded = past.iter().any(|tick| tick.after.is_some() && tick.count != Some(1));
    let mut legend = String::new();
    if folded {
        legend.push_str("×N: N consecutive ticks, newest shown\n");
    }
    if !past.is_sorted_by_key(|tick| tick.tick_ms) {
        legend.push_str("in the order in which they ended\n");
    }
    table.render() + &TextStyle::Quiet.paint(&legend)
}

/// Returns the time in UTC without the beginning that it has in common with `other`: the year, or the date.
fn beside(at: UtcMillis, other: UtcMillis, most: usize) -> String {
    let [at, other] = [at, other].map(utc);
    let shared = [TIME_AT, MONTH_AT].into_iter().filter(|length| *length <= most);
    let shared = shared.filter(|&length| at.get(..length) == other.get(..length)).max();
    at[shared.unwrap_or(0)..].to_owned()
}

/// Returns an outcome such as `failed (exit 3, attempt 2, manual)` or `missed (no_replica) ×12`.
fn outcome(tick: &TickView) -> String {
    let exit = tick.exit().filter(|exit| tick.reason.is_none() && exit != "0");
    let details: Vec<String> = [
        tick.reason.map(|reason| reason.to_string()),
        exit.map(|exit| if tick.signal.is_some() { exit } else { format!("exit {exit}") }),
        tick.attempt.filter(|attempt| *attempt > 1).map(|attempt| format!("attempt {attempt}")),
        tick.cause.filter(|cause| *cause != Cause::Schedule).map(|cause| cause.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let count = match (tick.after.is_some(), tick.count) {
        (true, Some(count)) if count > 1 => format!(" ×{count}"),
        (true, None) => " ×?".to_owned(),
        (true, Some(_)) | (false, _) => String::new(),
    };
    format!("{}{details}{count}", tick.outcome)
}
