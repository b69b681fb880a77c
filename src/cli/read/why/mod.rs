//! `why JOB TIME`: explains in a sentence what happened at one instant of a job, and why. Times are the store's.

use clap::Args;

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::JobName;
use crate::store::KEPT_ENTRIES;
use crate::view::explanation::{Unexplained, When};
use crate::view::snapshot::Snapshot;

/// Flags of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: JobName,
    /// The time of the tick in the job's time zone, unless it has an offset: `02:30` (the last one), `02:30Z` (UTC), `2026-11-23 02:30`
    #[arg(value_name = "TIME", num_args = 1..=2, required = true)]
    pub time: Vec<String>,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Explains one instant.
pub(crate) async fn run(
    args: &WhyArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let text = args.time.join(" ");
    let time = When::read(&text)?;
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let (store, jobs) = reach_jobs(std::slice::from_ref(&args.job), &place, global, screen).await?;
    let snapshot = async {
        let mut snapshot = Snapshot::take(&*store, jobs, KEPT_ENTRIES).await.map_err(Failure::of(&*store))?;
        snapshot.ask_why(&*store).await;
        Ok::<_, Failure>(snapshot)
    };
    let snapshot = screen.during(FOR_STORE, snapshot).await?;
    let job = snapshot.jobs.first().expect("one job was asked for");
    screen.print(&format!("{}\n", time.explain(job, &snapshot)?))?;
    Ok(Exit::Done)
}

impl From<Unexplained> for Failure {
    fn from(error: Unexplained) -> Self {
        match error {
            Unexplained::Unread(why) => Self::failed(why),
            Unexplained::NoInstant(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests;
