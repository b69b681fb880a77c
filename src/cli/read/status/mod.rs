//! `status`: prints what is wrong, then the replicas, then every job. Times are the store's.

use crate::cli::args::global::{Format, GlobalArgs, StatusArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::store::Store;
use crate::view::expected::Expected;
use crate::view::job::KnownJob;
use crate::view::status::StatusView;

use page::StatusPage;

/// Shows the state of the cluster.
pub(crate) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    if args.watch {
        return watch::run(args, global, &place, screen).await;
    }
    let (store, jobs) = reach_jobs_or_all(args.job.as_slice(), &place, global, screen).await?;
    show(args, jobs, place.expected(), &*store, screen).await
}

async fn show(
    args: &StatusArgs,
    jobs: Vec<KnownJob>,
    expected: Expected<'_>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let page = screen.during(FOR_STORE, StatusPage::read(args, jobs, store)).await?;
    let view = StatusView::of(&page.snapshot, expected);
    match args.format.format {
        Format::Json => screen.print_json(&view)?,
        Format::Table => screen.print(&page.text(args, &view, screen.columns))?,
    };
    Ok(if args.check && !view.ok { Exit::Failed } else { Exit::Done })
}

mod job_page;
mod page;
mod table;
#[cfg(test)]
mod tests;
mod watch;
