//! `history`: past ticks and their outcomes, over all replicas, oldest first; runs that have not ended come last. Times are the
//! store's.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::args::global::{Format, FormatArgs, GlobalArgs};
use crate::cli::args::moment::Since;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::{JobName, NodeName, Outcome};
use crate::store::{KEPT_ENTRIES, Store};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job_definition::KnownJob;
use crate::view::snapshot::{JobState, Snapshot};

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
    pub since: Option<Since>,
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
    /// Whether ticks are left out. Those do not count for `-n`.
    const fn is_filtered(&self) -> bool {
        self.failed || !self.outcomes.is_empty() || self.node.is_some() || self.since.is_some()
    }

    fn wants(&self, tick: &TickView, now: UtcMillis) -> bool {
        self.since.is_none_or(|since| tick.ended() >= since.before(now))
            && !(self.failed && is_well(tick.outcome))
            && (self.outcomes.is_empty() || self.outcomes.contains(&tick.outcome))
            && (self.node.is_none() || self.node == tick.node)
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
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let newest = if args.is_filtered() { KEPT_ENTRIES } else { count.min(KEPT_ENTRIES) };
    let snapshot = screen.during(FOR_STORE, Snapshot::take(store, jobs, newest)).await;
    let snapshot = snapshot.map_err(Failure::of(store))?;
    let mut past = merged(&snapshot, |tick| args.wants(tick, snapshot.now));
    past.drain(..past.len().saturating_sub(count));
    match args.format.format {
        Format::Json => screen.print_json(&past)?,
        Format::Table if past.is_empty() && args.is_filtered() => screen.print("no such ticks\n")?,
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

const fn is_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Running)
}

/// Returns the wanted ticks of all jobs, in the order in which they ended.
fn merged(snapshot: &Snapshot, is_wanted: impl Fn(&TickView) -> bool) -> Vec<TickView> {
    let of_job = snapshot.jobs.iter().flat_map(JobState::past);
    let mut past: Vec<TickView> = of_job.filter(is_wanted).collect();
    past.sort_by_key(|tick| (tick.ended(), tick.started));
    past
}

pub(crate) mod table;
#[cfg(test)]
mod tests;
