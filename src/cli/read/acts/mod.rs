//! `acts`: what operators did, and what was refused, oldest first: who, what, which job, what came of it. Times are those of the
//! machines where the acts were requested.

use clap::Args;
use serde::Serialize;

use crate::cli::args::global::{Format, FormatArgs, GlobalArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::reach_jobs;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::JobName;
use crate::operate::audit::{ActKind, ActNote, NewestNotes, newest_notes, not_shown};
use crate::store::Store;
use crate::time::UtcMillis;
use crate::view::job::Definition;
use crate::view::text::time_format::Rfc3339;

/// Flags of `acts`.
#[derive(Debug, Args)]
pub struct ActsArgs {
    /// Only this job
    #[arg(value_name = "JOB")]
    pub job: Option<JobName>,
    /// The newest N acts
    #[arg(short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub count: u32,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// How to print.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// An act, as programs get it.
#[derive(Debug, Serialize)]
struct ActView<'a> {
    at: Rfc3339,
    at_ms: UtcMillis,
    by: &'a str,
    from: &'a str,
    act: ActKind,
    job: &'a JobName,
    why: Option<&'a str>,
    result: &'a str,
}

/// Shows the newest acts.
pub(crate) async fn run(
    args: &ActsArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let store = match &args.job {
        Some(job) => reach_jobs(std::slice::from_ref(job), &place, global, screen).await?.0,
        None => screen.during(FOR_STORE, place.reach(global)).await?,
    };
    let is_absent = |job: &JobName| matches!(place.job(job).definition, Definition::Absent);
    show(args, &is_absent, &*store, screen).await
}

/// Prints the newest acts. `is_absent` tells of a job whether the file does not name it.
async fn show(
    args: &ActsArgs,
    is_absent: &dyn Fn(&JobName) -> bool,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let newest = screen.during(FOR_STORE, newest_notes(store, args.job.as_ref(), count)).await;
    let newest = newest.map_err(Failure::of(store))?;
    match args.format.format {
        Format::Json => screen.print_json(&newest.notes.iter().map(ActView::of).collect::<Vec<_>>())?,
        Format::Table if newest == NewestNotes::default() => screen.print("no act has been noted yet\n")?,
        Format::Table if newest.notes.is_empty() => screen.print("")?,
        Format::Table => {
            let text = table::text(&newest.notes, args.job.is_some(), is_absent, screen.columns);
            screen.print(&text)?
        }
    };
    if let Some(words) = not_shown(newest.unreadable) {
        screen.say(&format!("note: {words}\n"));
    }
    Ok(Exit::Done)
}

impl<'a> ActView<'a> {
    fn of(note: &'a ActNote) -> Self {
        Self {
            at: Rfc3339(note.at),
            at_ms: note.at,
            by: &note.by,
            from: &note.from,
            act: note.act,
            job: &note.job,
            why: note.why.as_deref(),
            result: &note.result,
        }
    }
}

pub(crate) mod table;
#[cfg(test)]
mod tests;
