//! `logs`: the output of a job's last run, below a line with run, node and time. If the run is on this node, its files are
//! read; else its replica is asked for them through the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use elsewhere::show_elsewhere;
use reader::LogText;

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::run_prefix::RunPrefix;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{OutputReader, Screen};
use crate::cli::print::style::TextStyle;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::known_job::{note_absence, reach_jobs, unknown_to_all};
use crate::cli::session::state_dir;
use crate::cli::session::target::{ClusterTarget, PlaceArgs};
use crate::job::{JobName, Outcome, RunId};
use crate::run::{RunEntry, RunError, RunLogs};
use crate::store::{KEPT_ENTRIES, Store};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::{Definition, JobState, KnownJob};
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::{Rfc3339, span, utc};

/// Flags of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: JobName,
    /// Show this run instead of the last one: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub run: Option<RunPrefix>,
    /// Keep printing until the run ends
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Print only the last N lines
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Look on this node alone; ask neither the store for a newer run nor another replica for its output
    #[arg(long)]
    pub local: bool,
    /// Print escape sequences as they are; a terminal obeys them
    #[arg(long)]
    pub raw: bool,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// How often a log that is followed is read: people take this delay for immediate.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// Shows the output of a run.
pub(crate) async fn run(
    args: &LogsArgs,
    global: &GlobalArgs,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let state_dir = state_dir(global.state_dir.as_deref())?;
    let logs = RunLogs::new(&state_dir, Arc::new(move || now));
    let here = find_here(args, &logs)?;
    // A run that was named by its whole id, and is here, is the right one even if newer runs exist elsewhere.
    let is_sure = here.is_some() && args.run.as_ref().is_some_and(RunPrefix::is_whole);
    let job = place.job(&args.job);
    if args.local && here.is_none() && matches!(job.definition, Definition::Absent) {
        return Err(unknown_to_all(&args.job, &place, &[]));
    }
    if !args.local && !is_sure {
        match reach(job, here.as_ref(), &place, global, screen).await {
            Ok((store, job)) => {
                let asked = find_elsewhere(args, job, here.as_ref(), store.as_ref());
                if let Some(newer) = screen.during(FOR_STORE, asked).await? {
                    return show_elsewhere(args, &store, &newer, here.as_ref(), screen).await;
                }
            }
            Err(failure) if here.is_some() => {
                let said = failure.message.replace('\n', "\n  ");
                screen.say(&format!("warning: {said}\n  note: a newer run may be on another node\n"));
            }
            Err(failure) => return Err(failure),
        }
    }
    match here {
        Some(entry) => show_here(args, &entry, &logs, now, screen).await,
        None => Err(nothing(args, &state_dir)),
    }
}

/// Connects to the store. A job that is neither in the file nor in the store counts as known if this node has run it.
async fn reach(
    job: KnownJob,
    here: Option<&RunEntry>,
    place: &ClusterTarget,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<(Arc<dyn Store>, KnownJob), Failure> {
    if here.is_some() {
        note_absence(&job, screen);
        return Ok((screen.during(FOR_STORE, place.reach(global)).await?, job));
    }
    let (store, _) = reach_jobs(std::slice::from_ref(&job.name), place, global, screen).await?;
    Ok((store, job))
}

/// Returns the requested run, or the last one, if this node knows it.
fn find_here(args: &LogsArgs, logs: &RunLogs) -> Result<Option<RunEntry>, Failure> {
    let failed = |error: RunError| Failure::failed(error.to_string());
    let Some(run) = &args.run else { return logs.last_run(&args.job).map_err(failed) };
    let (of_job, of_others): (Vec<RunEntry>, Vec<RunEntry>) = logs
        .find_all(|found| run.begins(found))
        .map_err(failed)?
        .into_iter()
        .partition(|entry| entry.job == args.job);
    run.expect_one(of_job.iter().map(|entry| entry.run), &args.job)?;
    match (of_job.into_iter().next(), of_others.first()) {
        (None, Some(other)) if run.is_whole() => {
            Err(Failure::new(Exit::Usage, format!("run {run} is of job `{}`, not `{}`", other.job, args.job)))
        }
        (found, _) => Ok(found),
    }
}

/// Returns the requested run if only the store knows it; without `--run`, the newest run if it is newer than the one here.
/// Fences are compared, because the clocks of nodes differ.
async fn find_elsewhere(
    args: &LogsArgs,
    job: KnownJob,
    here: Option<&RunEntry>,
    store: &dyn Store,
) -> Result<Option<TickView>, Failure> {
    let snapshot = Snapshot::take(store, vec![job], KEPT_ENTRIES).await.map_err(Failure::of(store))?;
    if let Some(why) = snapshot.jobs.iter().find_map(|job| job.unread.as_ref()) {
        return Err(Failure::failed(why.clone()));
    }
    let runs = snapshot.jobs.iter().flat_map(JobState::past).filter(|tick| tick.run.is_some());
    let Some(run) = &args.run else {
        return Ok(runs
            .filter(|tick| here.is_none_or(|here| tick.fence > Some(here.fence)))
            .max_by_key(|tick| (tick.fence, tick.ended())));
    };
    let found: Vec<TickView> = runs.filter(|tick| tick.run.is_some_and(|found| run.begins(found))).collect();
    let all = found.iter().filter_map(|tick| tick.run).chain(here.map(|here| here.run));
    run.expect_one(all, &args.job)?;
    Ok(found.into_iter().next_back().filter(|_| here.is_none()))
}

async fn show_here(
    args: &LogsArgs,
    entry: &RunEntry,
    logs: &RunLogs,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = logs.log_path(&entry.job, entry.run);
    let mut text = LogText::new(path.clone(), screen.out_colour);
    screen.print(&head(&TickView::kept(entry), Some(now)))?;
    if let Some(lines) = args.tail {
        text.skip_to_last(lines).map_err(|error| unreadable(&path, &error))?;
    }
    let is_going = || args.follow && logs.is_running(&entry.job, entry.run);
    loop {
        // Checked before reading, so that everything printed up to the end of the run is read.
        let goes_on = is_going();
        while let Some(piece) = text.next_piece().map_err(|error| unreadable(&path, &error))? {
            if print(args, &piece, screen)? == OutputReader::Gone {
                return Ok(Exit::Done);
            }
        }
        if !goes_on {
            break;
        }
        tokio::time::sleep(FOLLOW_EVERY).await;
    }
    print(args, &text.rest(), screen)?;
    let entry = if args.follow { ended(entry, logs, screen) } else { entry.clone() };
    if !path.exists() {
        show_without_log(args, &entry, screen)?;
    }
    Ok(Exit::Done)
}

/// Prints, for a run whose log does not exist, the end of the output that the journal keeps, and why.
fn show_without_log(args: &LogsArgs, entry: &RunEntry, screen: &mut Screen<'_>) -> Result<(), Failure> {
    let has_tail = entry.tail.as_ref().is_some_and(|tail| !tail.is_empty());
    if entry.outcome == Outcome::Running {
        screen.say("note: it has printed nothing so far, or only to the replica's own log\n");
        return Ok(());
    }
    if entry.log.is_some() {
        screen.say("note: its log was deleted (`[logs]` in jobs.toml); these are its last 4 KiB\n");
    } else if has_tail {
        screen.say("note: its output is in the replica's own log only; these are its last 4 KiB\n");
    }
    show_tail(entry.tail.as_deref(), args, screen)
}

/// Returns the run as it is after following it. Prints how it ended, if it was running before.
fn ended(before: &RunEntry, logs: &RunLogs, screen: &mut Screen<'_>) -> RunEntry {
    let now = logs.find(before.run).ok().flatten().unwrap_or_else(|| before.clone());
    if before.outcome == Outcome::Running {
        say_end(&TickView::kept(&now), now.run, screen);
    }
    now
}

/// Prints how a run ended that was followed.
fn say_end(tick: &TickView, run: RunId, screen: &mut Screen<'_>) {
    let exit = tick.exit().map_or(String::new(), |exit| exit_words(tick, &exit));
    screen.say(&format!("run {run} ended: {}{exit}\n", tick.verdict()));
}

/// Prints the end of an output that was kept, or its last lines.
fn show_tail(tail: Option<&str>, args: &LogsArgs, screen: &mut Screen<'_>) -> Result<(), Failure> {
    let Some(tail) = tail.filter(|tail| !tail.is_empty()) else {
        screen.say("note: it printed nothing\n");
        return Ok(());
    };
    let all: Vec<&str> = tail.lines().collect();
    let first = all.len().saturating_sub(args.tail.unwrap_or(all.len()));
    let shown: String = all[first..].iter().map(|line| format!("{line}\n")).collect();
    print(args, shown.as_bytes(), screen).map(drop)
}

fn print(args: &LogsArgs, output: &[u8], screen: &mut Screen<'_>) -> Result<OutputReader, Failure> {
    if args.raw { screen.print_bytes(output) } else { screen.print_output(output) }
}

/// Returns `run 0193… on n1, tick 2026-11-20T02:30:00.000Z, started 2026-11-20 02:30:00 UTC, succeeded after 3m 10s`.
fn head(tick: &TickView, now: Option<UtcMillis>) -> String {
    let run = tick.run.map_or("?".to_owned(), |run| run.to_string());
    let node = tick.node.as_ref().map_or("?".to_owned(), ToString::to_string);
    let started = tick.started.map_or(String::new(), |Rfc3339(at)| format!(", started {} UTC", utc(at)));
    let took = now.or(tick.finished.map(|Rfc3339(at)| at)).and_then(|now| tick.took(now)).map(span);
    let took = match (took, tick.outcome) {
        (None, _) => String::new(),
        (Some(took), Outcome::Running) => format!(" for {took}"),
        (Some(took), _) => format!(" after {took}"),
    };
    let exit = tick.exit().map_or(String::new(), |exit| exit_words(tick, &exit));
    let verdict = TextStyle::of(tick.outcome).paint(&tick.verdict());
    format!("run {run} on {node}, tick {}{started}, {verdict}{took}{exit}\n", tick.tick.0)
}

/// Returns `, exit 3`, or `, ended by SIGTERM`.
fn exit_words(tick: &TickView, exit: &str) -> String {
    if tick.signal.is_some() { format!(", ended by {exit}") } else { format!(", exit {exit}") }
}

fn nothing(args: &LogsArgs, state_dir: &Path) -> Failure {
    let what = match &args.run {
        Some(run) => format!("no run {run} of job `{}`", args.job),
        None => format!("no run of job `{}`", args.job),
    };
    let (whence, more) = match args.local {
        true => ("", "; name another replica's folder with --state-dir"),
        false => (", nor in the store", ""),
    };
    let message = format!(
        "{what} in {}{whence}\n  help: `solocron history {}` says whether it has run{more}",
        state_dir.display(),
        args.job
    );
    Failure::failed(message)
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let help = "make it readable for you, or use the replica's user";
    Failure::failed(format!("{} cannot be read: {error}\n  help: {help}", path.display()))
}

pub(in crate::cli) mod elsewhere;
mod lines;
pub(in crate::cli) mod reader;
pub(in crate::cli) mod remote_text;
#[cfg(test)]
mod tests;
