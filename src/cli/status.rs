//! `status`: what is wrong first, then the replicas, then every job. Times are the store's.

use std::time::Duration;

use crate::job::UtcMillis;
use crate::store::Store;

use super::args::{Format, GlobalArgs, StatusArgs};
use super::exit::{Exit, Failure};
use super::expected::Expected;
use super::known_job::{Definition, KnownJob, all_jobs, reach_jobs};
use super::past::PastTick;
use super::place::Place;
use super::screen::Screen;
use super::status_table;
use super::status_view::StatusView;
use super::survey::{JobState, Survey};
use super::trouble::{DEPTH, needs_depth};
use super::wait_line::FOR_STORE;

/// A job that the file does not name is shown for so long after its last tick: removed jobs, and locks of `exec`, stay in the store
/// for ever.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);

/// Shows the state of the cluster.
pub(crate) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = Place::find(&args.place, global, screen)?;
    let (store, jobs) = match &args.job {
        Some(job) => reach_jobs(std::slice::from_ref(job), (&place, global), screen).await?,
        None => {
            let store = screen.during(FOR_STORE, place.reach(global)).await?;
            let jobs = all_jobs(&place, &*store, screen).await?;
            (store, jobs)
        }
    };
    show(args, jobs, (place.expected(), &*store), screen).await
}

async fn show(
    args: &StatusArgs,
    jobs: Vec<KnownJob>,
    (expected, store): (Expected<'_>, &dyn Store),
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    // One entry tells how a job fares; the others, with their output, are fetched only where it fares badly.
    let surveying = async {
        let mut survey = Survey::take(store, jobs, 1).await?;
        let now = survey.now;
        survey.jobs.retain(|job| args.job.is_some() || is_of_now(job, now));
        survey.deepen(store, DEPTH, needs_depth).await?;
        survey.ask_why(store).await;
        Ok::<_, Failure>(survey)
    };
    let survey = screen.during(FOR_STORE, surveying).await?;
    let view = StatusView::of(&survey, expected);
    match args.format.format {
        Format::Json => screen.print_json(&view)?,
        Format::Table => screen.print(&status_table::text(&view, survey.now))?,
    };
    Ok(if args.check && !view.ok { Exit::Failed } else { Exit::Done })
}

/// Whether the job has to do with the state of the cluster: the file names it, or may, or it did something lately.
fn is_of_now(job: &JobState, now: UtcMillis) -> bool {
    let was_lately = |tick: &PastTick| now.since(tick.ended()) <= LATELY;
    let is_paused = || job.record.as_ref().is_some_and(|record| record.paused > Some(now));
    !matches!(job.definition, Definition::Absent)
        || job.running().is_some()
        || is_paused()
        || job.decided().next_back().as_ref().is_some_and(was_lately)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
