//! `why JOB TIME`: explains in a sentence what happened at one instant of a job, and why. Times are the store's.

use clap::Args;
use jiff::civil::{Date, Time};

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::moment::Moment;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::{JobName, Schedule, Tick};
use crate::store::KEPT_ENTRIES;
use crate::time::UtcMillis;
use crate::view::explanation::TickFacts;
use crate::view::history::TickView;
use crate::view::snapshot::Snapshot;

/// The length of the date in `2026-11-20T12:00:00.000+01:00`.
const DATE: usize = 10;

/// Flags of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: JobName,
    /// The time of the tick in the job's time zone, unless it has an offset: `02:30` (the last one), `2026-11-23 02:30`
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
    screen.print(&format!("{}\n", explain(time, &snapshot)?))?;
    Ok(Exit::Done)
}

/// Explains this time of the snapshot's only job.
fn explain(time: When, snapshot: &Snapshot) -> Result<String, Failure> {
    let job = snapshot.jobs.first().expect("one job was asked for");
    if let Some(why) = &job.unread {
        return Err(Failure::failed(why.clone()));
    }
    let spec = job.spec().map(|spec| &**spec);
    let at = time.instant(&job.name, spec.map(|spec| &spec.schedule), snapshot.now)?;
    let past: Vec<TickView> = job.past().collect();
    let facts = TickFacts {
        job: job.name.as_str(),
        spec,
        record: job.record.as_ref(),
        past: &past,
        concern: snapshot.concerns.first(),
        now: snapshot.now,
    };
    Ok(facts.explain(at))
}

/// The time to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// A date, with or without a time of day.
    Moment(Moment),
    /// The last time at which clocks showed it.
    TimeOfDay(Time),
}

impl When {
    fn read(text: &str) -> Result<Self, Failure> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        text.parse().map(Self::TimeOfDay).map_err(|_| {
            let help = "write `02:30` for the last one, `2026-11-23 02:30`, or `2026-11-23T02:30:00+01:00`";
            Failure::new(Exit::Usage, format!("`{text}` is not a time\n  help: {help}"))
        })
    }

    fn instant(
        self,
        job: &JobName,
        schedule: Option<&Schedule>,
        now: UtcMillis,
    ) -> Result<UtcMillis, Failure> {
        let time = match self {
            Self::Moment(moment) => return moment.in_zone("", job, schedule),
            Self::TimeOfDay(time) => time,
        };
        let today = match schedule {
            Some(schedule) => schedule.local_text(Tick(now)),
            None => now.to_string(),
        };
        let today: Date = today[..DATE].parse().expect("times begin with their date");
        let on = |date: Date| Moment::Local(date.to_datetime(time)).in_zone("", job, schedule);
        match on(today)? {
            at if at <= now => Ok(at),
            _ => on(today.yesterday().unwrap_or(today)),
        }
    }
}

#[cfg(test)]
mod tests;
