//! `history`: past ticks and how they ended, over all replicas, oldest first; runs that go on come last. Times are the
//! store's.

use std::sync::Arc;

use crate::config::Overrides;
use crate::job::{JobSpec, Outcome};
use crate::store::{KEPT_ENTRIES, Store};

use super::args::{Format, GlobalArgs, HistoryArgs};
use super::exit::{Exit, Failure};
use super::history_table;
use super::named::find_jobs;
use super::past::PastTick;
use super::screen::Screen;
use super::session::Session;
use super::survey::Survey;
use super::times::since;
use super::wait_line::FOR_STORE;

/// Shows past ticks.
pub(crate) async fn run(
    args: &HistoryArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = Session::load(global, Overrides::default())?;
    let jobs = find_jobs(&session.config, &session.source, args.job.as_ref())?;
    let store = screen.during(FOR_STORE, session.reach_store()).await?;
    show(args, jobs, store.as_ref(), screen).await
}

async fn show(
    args: &HistoryArgs,
    jobs: Vec<Arc<JobSpec>>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    // What is left out must not count.
    let is_filtered = args.failed || args.since.is_some();
    let newest = if is_filtered { KEPT_ENTRIES } else { count.min(KEPT_ENTRIES) };
    let survey = screen.during(FOR_STORE, Survey::take(store, jobs, newest)).await?;
    let from = args.since.as_deref().map(|text| since(text, survey.now)).transpose()?;
    let mut past = merged(&survey, |tick| {
        from.is_none_or(|from| tick.ended() >= from) && !(args.failed && is_well(tick.outcome))
    });
    past.drain(..past.len().saturating_sub(count));
    match args.format.format {
        Format::Json => screen.print_json(&past)?,
        Format::Table if past.is_empty() && is_filtered => screen.print("no such ticks\n")?,
        Format::Table if past.is_empty() => screen.print("no tick has been decided yet\n")?,
        Format::Table => {
            let text = history_table::text(&past, args.job.is_some(), survey.now, screen.columns);
            screen.print(&text)?
        }
    };
    let unread: Vec<&String> = survey.jobs.iter().filter_map(|job| job.unread.as_ref()).collect();
    unread.iter().for_each(|why| screen.say(&format!("note: {why}\n")));
    Ok(if unread.is_empty() { Exit::Done } else { Exit::Failed })
}

const fn is_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Running)
}

/// The wanted ticks of all jobs, in the order in which they ended.
fn merged(survey: &Survey, is_wanted: impl Fn(&PastTick) -> bool) -> Vec<PastTick> {
    let of_job = survey.jobs.iter().flat_map(|job| job.decided().chain(job.running()));
    let mut past: Vec<PastTick> = of_job.filter(is_wanted).collect();
    past.sort_by_key(|tick| (tick.ended(), tick.started));
    past
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
