//! `history`: past ticks and their outcomes, over all replicas, in the order in which they ended; runs that have not ended come
//! last. Times are the store's.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::args::global::{Format, FormatArgs, GlobalArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::{JobName, NodeName, Outcome};
use crate::store::Store;
use crate::view::history::HistoryFilter;
use crate::view::job::KnownJob;
use crate::view::snapshot::Snapshot;
use crate::view::text::TimeBound;

/// Flags of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only this job
    #[arg(value_name = "JOB")]
    pub job: Option<JobName>,
    /// The newest N ticks
    #[arg(short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Only ticks that ended, and did not succeed
    #[arg(long)]
    pub failed: bool,
    /// Only ticks with this outcome; repeated, or with commas
    #[arg(long = "outcome", value_name = "OUTCOME", value_delimiter = ',', value_parser = outcome())]
    pub outcomes: Vec<Outcome>,
    /// Only runs on this replica
    #[arg(long, value_name = "NAME")]
    pub node: Option<NodeName>,
    /// Only ticks that ended since then: a duration before now, such as `2h`; a date; or a time, in UTC or with its offset
    #[arg(long, value_name = "TIME")]
    pub since: Option<TimeBound>,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// How to print.
    #[command(flatten)]
    pub format: FormatArgs,
}

fn outcome() -> impl TypedValueParser<Value = Outcome> {
    let words = Outcome::ALL.iter().map(|outcome| outcome.as_str());
    PossibleValuesParser::new(words).map(|word| word.parse().expect("only their own words are accepted"))
}

impl HistoryArgs {
    /// Returns which ticks are wanted.
    fn filter(&self) -> HistoryFilter {
        HistoryFilter {
            failed: self.failed,
            outcomes: self.outcomes.clone(),
            node: self.node.clone(),
            since: self.since,
            until: None,
            before: None,
            newest: usize::try_from(self.count).unwrap_or(usize::MAX),
        }
    }
}

/// Shows past ticks.
pub(crate) async fn run(
    args: &HistoryArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let (store, jobs) = reach_jobs_or_all(args.job.as_slice(), &place, global, screen).await?;
    show(args, jobs, &*store, screen).await
}

async fn show(
    args: &HistoryArgs,
    jobs: Vec<KnownJob>,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let filter = args.filter();
    let snapshot = screen.during(FOR_STORE, Snapshot::take(store, jobs, filter.entries_per_job())).await;
    let snapshot = snapshot.map_err(Failure::of(store))?;
    let past = filter.select(&snapshot);
    match args.format.format {
        Format::Json => screen.print_json(&past)?,
        Format::Table if past.is_empty() && filter.leaves_out() => screen.print("no such ticks\n")?,
        Format::Table if past.is_empty() => screen.print("no tick has been decided yet\n")?,
        Format::Table => {
            let text = table::text(&past, args.job.is_some(), &snapshot, screen.columns);
            screen.print(&text)?
        }
    };
    let unread: Vec<&String> = snapshot.jobs.iter().filter_map(|job| job.unread.as_ref()).collect();
    unread.iter().for_each(|why| screen.say(&format!("note: {why}\n")));
    Ok(if unread.is_empty() { Exit::Done } else { Exit::Failed })
}

pub(crate) mod table;
#[cfg(test)]
mod tests;
