//! `status`: prints what is wrong, then the replicas, then every job. Times are the store's.

use std::time::Duration;

use tokio::time::sleep;

use crate::cli::args::global::{Format, GlobalArgs, StatusArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{OutputReader, Screen};
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::store::Store;
use crate::time::UtcMillis;
use crate::view::expected::Expected;
use crate::view::history::TickView;
use crate::view::job::{Definition, JobState, KnownJob};
use crate::view::problems::{DEPTH, needs_depth};
use crate::view::snapshot::Snapshot;
use crate::view::status::StatusView;

/// How long after its last tick a job that the file does not name is shown: removed jobs, and locks of `exec`, are never
/// deleted from the store.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);

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

/// Shows the state again and again, until the reader is gone. If the store does not answer, prints the error, and tries again.
async fn watch(
    args: &StatusArgs,
    jobs: &[KnownJob],
    expected: Expected<'_>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    loop {
        let surveyed = snapshot(args, jobs.to_vec(), store).await;
        let text = match surveyed {
            Ok(snapshot) => page(args, &snapshot, &StatusView::of(&snapshot, expected), screen.columns),
            Err(failure) => format!("error: {}\n", failure.message),
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

async fn snapshot(args: &StatusArgs, jobs: Vec<KnownJob>, store: &dyn Store) -> Result<Snapshot, Failure> {
    // For one job, its last runs are shown. For many jobs, one entry shows how each job fares; the other entries, with their
    // output, are read only for jobs that fare badly.
    let newest = if args.job.is_some() { job_page::LAST } else { 1 };
    let mut snapshot = Snapshot::take(store, jobs, newest).await.map_err(Failure::of(store))?;
    let now = snapshot.now;
    snapshot.jobs.retain(|job| args.job.is_some() || is_of_now(job, now));
    snapshot.deepen(store, DEPTH, needs_depth).await.map_err(Failure::of(store))?;
    snapshot.ask_why(store).await;
    Ok(snapshot)
}

/// Returns the text for people.
fn page(args: &StatusArgs, snapshot: &Snapshot, view: &StatusView, columns: Option<usize>) -> String {
    let mut text = table::text(view, snapshot.now, columns);
    if let Some(job) = snapshot.jobs.first().filter(|_| args.job.is_some()) {
        text.push('\n');
        text.push_str(&job_page::text(job, snapshot, columns));
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
        Format::Table => screen.print(&page(args, &snapshot, &view, screen.columns))?,
    };
    Ok(if args.check && !view.ok { Exit::Failed } else { Exit::Done })
}

/// Whether the job belongs to the current state of the cluster: the file names it, or may name it, or it was active lately.
fn is_of_now(job: &JobState, now: UtcMillis) -> bool {
    let was_lately = |tick: &TickView| now.since(tick.ended()) <= LATELY;
    let is_paused = || job.record.as_ref().is_some_and(|record| record.paused > Some(now));
    !matches!(job.definition, Definition::Absent)
        || job.running().is_some()
        || is_paused()
        || job.decided().next_back().as_ref().is_some_and(was_lately)
}

mod job_page;
mod table;
#[cfg(test)]
mod tests;
