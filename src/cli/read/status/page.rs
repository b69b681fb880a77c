//! What `status` shows: the state of the cluster as the store has it and, of a job that is named, the last acts on it.

use crate::cli::args::global::{Format, StatusArgs};
use crate::cli::exit::Failure;
use crate::operate::audit::{ActNote, newest_notes};
use crate::store::Store;
use crate::view::job::{JOBS_PER_PAGE, KnownJob};
use crate::view::problems::{DEPTH, needs_depth};
use crate::view::snapshot::Snapshot;
use crate::view::status::StatusView;
use crate::view::text::sparkline::{SPARK_SLOTS, SparkSigns};

use super::job_page;
use super::table::{self, StatusLook};

/// So many acts are shown.
const LAST_ACTS: usize = 3;

/// What is shown.
#[derive(Debug)]
pub(super) struct StatusPage {
    pub(super) snapshot: Snapshot,
    /// The last acts on the job, oldest first, or why they cannot be read; none without a job.
    acts: Result<Vec<ActNote>, String>,
}

impl StatusPage {
    /// Reads the store.
    pub(super) async fn read(
        args: &StatusArgs,
        jobs: Vec<KnownJob>,
        store: &dyn Store,
    ) -> Result<Self, Failure> {
        let snapshot = snapshot(args, jobs, store).await?;
        let job = args.job.as_ref().filter(|_| args.format.format == Format::Table);
        let acts = match job {
            Some(_) => newest_notes(store, job, LAST_ACTS).await.map(|newest| newest.notes),
            None => Ok(Vec::new()),
        };
        // The rest is worth showing without them.
        Ok(Self { snapshot, acts: acts.map_err(|error| error.to_string()) })
    }

    /// Returns the text for people.
    pub(super) fn text(&self, args: &StatusArgs, view: &StatusView, columns: Option<usize>) -> String {
        let snapshot = &self.snapshot;
        let signs = if args.ascii { SparkSigns::Ascii } else { SparkSigns::Unicode };
        let look =
            StatusLook { columns, signs, ticks: shown_ticks(args, snapshot.jobs.len()).min(table::TICKS) };
        let mut text = table::text(view, snapshot, look);
        if let Some(job) = snapshot.jobs.first().filter(|_| args.job.is_some()) {
            text.push('\n');
            text.push_str(&job_page::text(job, snapshot, view, look));
            text.push_str(&job_page::acts(&self.acts, look));
        }
        text
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
