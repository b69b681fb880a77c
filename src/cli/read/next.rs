//! `next`: the coming ticks of jobs.toml, or of an expression outside it. Pure computation: no request is sent to a store.

use std::sync::Arc;

use serde::Serialize;

use crate::cli::args::global::{Format, GlobalArgs, NextArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::style::TextStyle;
use crate::cli::print::table::{Cell, Table};
use crate::cli::session::find_job::find_jobs;
use crate::cli::session::load_file;
use crate::config;
use crate::config::{Overrides, Problem, Purpose, Source};
use crate::job::{JobName, JobSpec, Schedule, ScheduleError, Tick};
use crate::time::UtcMillis;
use crate::view::text::Moment;
use crate::view::text::time_format::{Rfc3339, from_now, local, utc};

/// The zone of an expression for which none is given, as in jobs.toml.
const DEFAULT_ZONE: &str = "UTC";

/// How many ticks of one job, or expression, are shown by default.
const OF_ONE: u32 = 10;

/// The most ticks that are computed: this many fit in memory easily.
const MOST: usize = 1_000_000;

/// A coming tick with what is needed to show it.
#[derive(Debug)]
struct Planned {
    /// `None` for an expression outside the file.
    job: Option<JobName>,
    schedule: Schedule,
    tick: Tick,
}

/// The same for programs.
#[derive(Debug, Serialize)]
struct PlannedView<'a> {
    job: Option<&'a JobName>,
    tick: Rfc3339,
    tick_ms: Tick,
    local: String,
}

/// Shows the coming ticks.
pub(crate) fn run(
    args: &NextArgs,
    global: &GlobalArgs,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let after = args.after.map_or(now, Moment::in_utc);
    let is_one = args.job.is_some() || args.expr.is_some();
    let count = args.count.unwrap_or(if is_one { OF_ONE } else { 1 });
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let planned = match &args.expr {
        Some(expression) => {
            let zone = args.timezone.as_deref().unwrap_or(DEFAULT_ZONE);
            ticks(of_expression(expression, zone, screen)?, None, after).take(count).collect()
        }
        None => {
            let (source, config, _) = load_file(global, Overrides::default(), Purpose::Read)?;
            let jobs = find_jobs(&config, &source, args.job.as_ref())?;
            if !jobs.iter().any(|job| job.enabled) {
                screen.say(&format!(
                    "note: {}: nothing is scheduled\n",
                    none_enabled(args.job.as_ref(), &source)
                ));
            }
            of_jobs(&jobs, after, count)?
        }
    };
    match args.format.format {
        Format::Json => screen.print_json(&planned.iter().map(view).collect::<Vec<_>>())?,
        Format::Table if planned.is_empty() => screen.print("no ticks are coming\n")?,
        Format::Table => screen.print(&table(&planned, now, screen.columns))?,
    };
    Ok(Exit::Done)
}

fn none_enabled(job: Option<&JobName>, source: &Source) -> String {
    match job {
        Some(job) => format!("job `{job}` has `enabled = false` in {}", source.path.display()),
        None => format!("no job of {} is enabled", source.path.display()),
    }
}

/// Returns the first `count` ticks of each of these jobs, in order of time.
fn of_jobs(jobs: &[Arc<JobSpec>], after: UtcMillis, count: usize) -> Result<Vec<Planned>, Failure> {
    let enabled: Vec<&Arc<JobSpec>> = jobs.iter().filter(|job| job.enabled).collect();
    if enabled.len().saturating_mul(count) > MOST {
        let message = format!(
            "{count} ticks of each of {} jobs are more than {MOST}\n  help: give a smaller -n, or a JOB",
            enabled.len()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let of_job = |job: &&Arc<JobSpec>| {
        let name = job.name.clone();
        ticks(job.schedule.clone(), Some(name), after).take(count)
    };
    let mut planned: Vec<Planned> = enabled.iter().flat_map(of_job).collect();
    planned.sort_by(|one, other| (one.tick, &one.job).cmp(&(other.tick, &other.job)));
    Ok(planned)
}

/// Returns the ticks of a schedule.
fn ticks(schedule: Schedule, job: Option<JobName>, after: UtcMillis) -> impl Iterator<Item = Planned> {
    let mut next = schedule.next_after(after);
    std::iter::from_fn(move || {
        let tick = next?;
        next = schedule.next_after(tick.instant());
        Some(Planned { job: job.clone(), schedule: schedule.clone(), tick })
    })
}

fn of_expression(expression: &str, zone: &str, screen: &mut Screen<'_>) -> Result<Schedule, Failure> {
    let parse = |job| Schedule::parse(job, &[expression], zone);
    let schedule = parse("").map_err(|errors| Failure {
        exit: Exit::Usage,
        message: errors.iter().map(|error| drawn(error, expression, zone, screen.err_colour)).collect(),
        drawn: true,
    })?;
    // Only a schedule with `H` depends on the job's name.
    if parse("x").is_ok_and(|other| other.fingerprint() != schedule.fingerprint()) {
        screen.say("note: `H` is a slot that each job's own name chooses; these are the ticks of a job without a name\n");
    }
    Ok(schedule)
}

/// Draws a problem of the expression or the zone like one of jobs.toml.
fn drawn(error: &ScheduleError, expression: &str, zone: &str, colour: bool) -> String {
    let (flag, text) = match error.expression {
        Some(_) => ("--expr", expression),
        None => ("--timezone", zone),
    };
    let source = Source::new(flag, text);
    let problem = Problem::error(error.message.clone()).at(error.span.clone()).help(error.help.clone());
    config::draw(&[problem], &source, colour)
}

fn view(planned: &Planned) -> PlannedView<'_> {
    PlannedView {
        job: planned.job.as_ref(),
        tick: Rfc3339(planned.tick.instant()),
        tick_ms: planned.tick,
        local: planned.schedule.local_text(planned.tick),
    }
}

fn table(planned: &[Planned], now: UtcMillis, columns: Option<usize>) -> String {
    let mut table = Table::new(&["JOB", "LOCAL TIME", "ZONE", "UTC", "DUE"]);
    for one in planned {
        let at = one.tick.instant();
        table.row(vec![
            Cell::maybe(one.job.as_ref()),
            Cell::plain(local(&one.schedule, one.tick)),
            Cell::plain(one.schedule.zone_name()),
            Cell::new(utc(at), TextStyle::Quiet),
            Cell::plain(from_now(at, now)),
        ]);
    }
    table.fit(columns, &["UTC", "ZONE"]);
    table.render()
}
