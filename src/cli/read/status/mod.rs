//! `status`: prints what is wrong, then the replicas, then every job. Times are the store's.

use std::time::Duration;

use anstream::adapter::strip_str;
use tokio::time::{Instant, sleep};

use crate::cli::args::global::{Format, GlobalArgs, StatusArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{OutputReader, Screen};
use crate::cli::print::style::TextStyle;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::store::Store;
use crate::view::expected::Expected;
use crate::view::job::{JOBS_PER_PAGE, KnownJob};
use crate::view::problems::{DEPTH, needs_depth};
use crate::view::snapshot::Snapshot;
use crate::view::status::StatusView;
use crate::view::text::sparkline::{SPARK_SLOTS, SparkSigns};
use crate::view::text::time_format::span;

use table::StatusLook;

/// How often `--watch` shows the state.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Moves a terminal's cursor to the upper left corner, and clears the terminal.
const CLEARED: &str = "\u{1b}[H\u{1b}[2J";

/// Shows the state of the cluster.
pub(crate) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let (store, jobs) = reach_jobs_or_all(args.job.as_slice(), &place, global, screen).await?;
    if args.watch {
        return watch(args, &jobs, place.expected(), &*store, screen).await;
    }
    show(args, jobs, place.expected(), &*store, screen).await
}

/// What `--watch` showed last.
#[derive(Debug)]
struct LastPage {
    text: String,
    /// When it was read.
    at: Instant,
}

/// Shows the state again and again, until the reader is gone. If the store does not answer, prints the error above what it
/// showed last, and tries again.
async fn watch(
    args: &StatusArgs,
    jobs: &[KnownJob],
    expected: Expected<'_>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let mut last: Option<LastPage> = None;
    loop {
        let surveyed = snapshot(args, jobs.to_vec(), store).await;
        let text = match surveyed {
            Ok(snapshot) => {
                let text = text(args, &snapshot, &StatusView::of(&snapshot, expected), screen.columns);
                last = Some(LastPage { text: text.clone(), at: Instant::now() });
                text
            }
            Err(failure) => without_news(&failure, last.as_ref()),
        };
        let text = match screen.columns.zip(screen.rows) {
            Some((columns, rows)) => fitted(&text, columns, rows),
            None => text,
        };
        let begin = if screen.columns.is_some() { CLEARED } else { "" };
        if screen.print_bytes(begin.as_bytes())? == OutputReader::Gone
            || screen.print(&text)? == OutputReader::Gone
        {
            return Ok(Exit::Done);
        }
        sleep(WATCH_EVERY).await;
    }
}

/// Returns the beginning of the text, as much as a terminal of so many columns and rows shows at once: what is wrong comes first,
/// and must not scroll away.
fn fitted(text: &str, columns: usize, rows: usize) -> String {
    let height = |line: &str| strip_str(line).to_string().chars().count().div_ceil(columns.max(1)).max(1);
    // The cursor stands in the row below the text.
    if text.lines().map(height).sum::<usize>() < rows {
        return text.to_owned();
    }
    let mut free = rows.saturating_sub(2);
    let shown = text.lines().take_while(|line| {
        let needed = height(line);
        let fits = needed <= free;
        free = free.saturating_sub(needed);
        fits
    });
    let shown: Vec<&str> = shown.collect();
    let others = text.lines().count() - shown.len();
    format!("{}\n… and {others} more lines; a taller terminal shows them\n", shown.join("\n"))
}

/// Returns the error, and what was shown last with its age.
fn without_news(failure: &Failure, last: Option<&LastPage>) -> String {
    let message = &failure.message;
    match last {
        None => format!("error: {message}\n"),
        Some(LastPage { text, at }) => {
            let no_news = TextStyle::Bad.paint(&format!("no news for {}", span(at.elapsed())));
            format!("{no_news}: {message}\nbefore that:\n\n{text}")
        }
    }
}

async fn snapshot(args: &StatusArgs, jobs: Vec<KnownJob>, store: &dyn Store) -> Result<Snapshot, Failure> {
    // One entry shows how a job fares; the other entries, with their output, are read only for jobs that fare badly.
    let mut snapshot = Snapshot::take(store, jobs, 1).await.map_err(Failure::of(store))?;
    let now = snapshot.now;
    snapshot.jobs.retain(|job| args.job.is_some() || job.is_of_now(now));
    let shown = shown_ticks(args, snapshot.jobs.len());
    if shown > 1 {
        // If they cannot be read, the rest is still worth showing: a server with several slots refuses this call alone.
        let _ = snapshot.glance(store, shown).await;
    }
    snapshot.deepen(store, DEPTH.max(shown), needs_depth).await.map_err(Failure::of(store))?;
    snapshot.ask_why(store).await;
    Ok(snapshot)
}

/// Returns how many of the newest ticks of each of these jobs are shown.
fn shown_ticks(args: &StatusArgs, jobs: usize) -> usize {
    match args.job {
        Some(_) => SPARK_SLOTS,
        None if args.format.format == Format::Table && jobs <= JOBS_PER_PAGE => table::TICKS,
        None => 1,
    }
}

/// Returns the text for people.
fn text(args: &StatusArgs, snapshot: &Snapshot, view: &StatusView, columns: Option<usize>) -> String {
    let signs = if args.ascii { SparkSigns::Ascii } else { SparkSigns::Unicode };
    let look = StatusLook { columns, signs, ticks: shown_ticks(args, snapshot.jobs.len()).min(table::TICKS) };
    let mut text = table::text(view, snapshot, look);
    if let Some(job) = snapshot.jobs.first().filter(|_| args.job.is_some()) {
        text.push('\n');
        text.push_str(&job_page::text(job, snapshot, view, look));
    }
    text
}

async fn show(
    args: &StatusArgs,
    jobs: Vec<KnownJob>,
    expected: Expected<'_>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let snapshot = screen.during(FOR_STORE, snapshot(args, jobs, store)).await?;
    let view = StatusView::of(&snapshot, expected);
    match args.format.format {
        Format::Json => screen.print_json(&view)?,
        Format::Table => screen.print(&text(args, &snapshot, &view, screen.columns))?,
    };
    Ok(if args.check && !view.ok { Exit::Failed } else { Exit::Done })
}

mod job_page;
mod table;
#[cfg(test)]
mod tests;
