//! `status`: what is wrong first, then the replicas, then every job. Times are the store's.

use crate::config::{Config, Overrides};
use crate::store::Store;

use super::args::{Format, GlobalArgs, StatusArgs};
use super::exit::{Exit, Failure};
use super::screen::Screen;
use super::session::Session;
use super::status_table;
use super::status_view::StatusView;
use super::survey::Survey;
use super::trouble::{DEPTH, needs_depth};
use super::wait_line::FOR_STORE;

/// Shows the state of the cluster.
pub(crate) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = Session::load(global, Overrides::default())?;
    let store = screen.during(FOR_STORE, session.reach_store()).await?;
    show(args, &session.config, store.as_ref(), screen).await
}

async fn show(
    args: &StatusArgs,
    config: &Config,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let jobs = config.jobs.values().cloned().collect();
    // One entry tells how a job fares; the others, with their output, are fetched only where it fares badly.
    let surveying = async {
        let mut survey = Survey::take(store, jobs, 1).await?;
        survey.deepen(store, DEPTH, needs_depth).await?;
        survey.ask_why(store).await;
        Ok::<_, Failure>(survey)
    };
    let survey = screen.during(FOR_STORE, surveying).await?;
    let view = StatusView::of(&survey, config);
    match args.format.format {
        Format::Json => screen.print_json(&view)?,
        Format::Table => screen.print(&status_table::text(&view, survey.now))?,
    };
    Ok(if args.check && !view.ok { Exit::Failed } else { Exit::Done })
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
