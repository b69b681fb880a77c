//! `history`: past ticks and how they ended, over all replicas, oldest first; runs that go on come last. Times are the
//! store's.

use std::sync::Arc;

use crate::config::Overrides;
use crate::job::{Cause, JobSpec, Outcome, UtcMillis};
use crate::store::{KEPT_ENTRIES, Store};

use super::args::{Format, GlobalArgs, HistoryArgs};
use super::exit::{Exit, Failure};
use super::named::find_jobs;
use super::past::PastTick;
use super::screen::Screen;
use super::session::Session;
use super::survey::Survey;
use super::table::{Cell, Table};
use super::times::{Rfc3339, since, span, utc};
use super::tone::Tone;

/// Shows past ticks.
pub(crate) async fn run(
    args: &HistoryArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = Session::load(global, Overrides::default())?;
    let jobs = find_jobs(&session.config, &session.source, args.job.as_ref())?;
    let store = session.reach_store().await?;
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
    let survey = Survey::take(store, jobs, newest).await?;
    let from = args.since.as_deref().map(|text| since(text, survey.now)).transpose()?;
    let mut past = merged(&survey, |tick| {
        from.is_none_or(|from| tick.ended() >= from) && !(args.failed && is_well(tick.outcome))
    });
    past.drain(..past.len().saturating_sub(count));
    match args.format.format {
        Format::Json => screen.print_json(&past)?,
        Format::Table if past.is_empty() && is_filtered => screen.print("no such ticks\n")?,
        Format::Table if past.is_empty() => screen.print("no tick has been decided yet\n")?,
        Format::Table => screen.print(&table(&past, args.job.is_some(), survey.now))?,
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

/// With its run's id where one job alone is shown: `logs JOB --run ID` asks for it.
fn table(past: &[PastTick], is_one_job: bool, now: UtcMillis) -> String {
    let mut table = Table::new(&[
        "TICK (UTC)",
        "JOB",
        "OUTCOME",
        "CAUSE",
        "NODE",
        "ATTEMPT",
        "LATE",
        "TOOK",
        "EXIT",
        "RUN",
    ]);
    for tick in past {
        let Rfc3339(at) = tick.tick;
        let took = tick.took(now).map(span);
        let took = if tick.outcome == Outcome::Running { took.map(|took| took + " so far") } else { took };
        table.row(vec![
            Cell::plain(utc(at)),
            Cell::maybe((!is_one_job).then_some(&tick.job)),
            Cell::new(tick.verdict(), Tone::of(tick.outcome)),
            Cell::maybe(tick.cause.filter(|&cause| cause != Cause::Schedule)),
            Cell::maybe(tick.node.as_ref()),
            Cell::maybe(tick.attempt),
            Cell::maybe(tick.late().map(span)),
            Cell::maybe(took),
            Cell::maybe(tick.exit()),
            Cell::maybe(tick.run.filter(|_| is_one_job)),
        ]);
    }
    let folded = past.iter().any(|tick| tick.after.is_some());
    let legend = if folded { "×N: N consecutive ticks, newest shown\n" } else { "" };
    table.render() + &Tone::Quiet.paint(legend)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
