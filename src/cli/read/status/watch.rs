//! `status --watch`: the state, again and again. On a terminal it has the whole screen until it is left; elsewhere one text
//! follows the other. A store that does not answer ends nothing, neither at the start nor later.

use std::sync::Arc;
use std::time::Duration;

use anstream::adapter::strip_str;
use tokio::time::{Instant, sleep};

use crate::cli::args::global::{GlobalArgs, StatusArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::alternate_screen::AlternateScreen;
use crate::cli::print::output::{OutputReader, Screen};
use crate::cli::print::style::TextStyle;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::store::Store;
use crate::view::job::KnownJob;
use crate::view::status::StatusView;
use crate::view::text::time_format::span;

use super::page::StatusPage;

/// How often the state is shown.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Moves a terminal's cursor to the upper left corner, and clears the terminal.
const CLEARED: &str = "\u{1b}[H\u{1b}[2J";

/// A store that has answered, and the jobs that are shown.
type Reached = (Arc<dyn Store>, Vec<KnownJob>);

/// The state that was shown last.
#[derive(Debug)]
struct LastPage {
    text: String,
    /// When it was read.
    at: Instant,
}

/// Shows the state until the reader has gone, or the screen is left.
pub(super) async fn run(
    args: &StatusArgs,
    global: &GlobalArgs,
    place: &ClusterTarget,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if !screen.is_whole_terminal() {
        return watch(args, global, place, screen).await;
    }
    let cannot = |error| Failure::failed(format!("the terminal cannot be used: {error}"));
    let mut alternate = AlternateScreen::enter().map_err(cannot)?;
    let exit = tokio::select! {
        end = watch(args, global, place, screen) => end,
        exit = alternate.leaving() => Ok(exit),
    };
    // Before the former screen is back.
    screen.end_wait();
    exit
}

async fn watch(
    args: &StatusArgs,
    global: &GlobalArgs,
    place: &ClusterTarget,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (mut reached, mut last) = (None, None);
    loop {
        screen.measure();
        let read = match read(args, global, place, &mut reached, screen).await {
            // What is wrong with the command line is so the next time, too.
            Err(failure) if reached.is_none() && failure.exit != Exit::StoreUnreachable => {
                return Err(failure);
            }
            read => read,
        };
        let text = match read {
            Ok(page) => {
                let view = StatusView::of(&page.snapshot, place.expected());
                let text = page.text(args, &view, screen.columns);
                last = Some(LastPage { text: text.clone(), at: Instant::now() });
                text
            }
            Err(failure) => without_news(&failure, last.as_ref()),
        };
        if show(&text, screen)? == OutputReader::Gone {
            return Ok(Exit::Done);
        }
        sleep(WATCH_EVERY).await;
    }
}

/// Reads the state, from a store that is connected to with the first answer.
async fn read(
    args: &StatusArgs,
    global: &GlobalArgs,
    place: &ClusterTarget,
    reached: &mut Option<Reached>,
    screen: &mut Screen<'_>,
) -> Result<StatusPage, Failure> {
    if reached.is_none() {
        *reached = Some(reach_jobs_or_all(args.job.as_slice(), place, global, screen).await?);
    }
    let (store, jobs) = reached.as_ref().expect("it was reached");
    StatusPage::read(args, jobs.clone(), &**store).await
}

fn show(text: &str, screen: &mut Screen<'_>) -> Result<OutputReader, Failure> {
    if screen.is_whole_terminal() && screen.print_bytes(CLEARED.as_bytes())? == OutputReader::Gone {
        return Ok(OutputReader::Gone);
    }
    match screen.columns.zip(screen.rows) {
        Some((columns, rows)) => screen.print(&fitted(text, columns, rows)),
        None => screen.print(text),
    }
}

/// Returns the beginning of the text, as much as a terminal of so many columns and rows shows at once: what is wrong comes first,
/// and must not scroll away.
fn fitted(text: &str, columns: usize, rows: usize) -> String {
    let height = |line: &str| strip_str(line).to_string().chars().count().div_ceil(columns.max(1)).max(1);
    // The cursor stands in the row below the text.
    if text.lines().map(height).sum::<usize>() < rows {
        return text.to_owned();
    }
    let mut free = rows.saturating_sub(2);
    let shown = text.lines().take_while(|line| {
        let needed = height(line);
        let fits = needed <= free;
        free = free.saturating_sub(needed);
        fits
    });
    let shown: Vec<&str> = shown.collect();
    let others = text.lines().count() - shown.len();
    format!("{}\n… and {others} more lines; a taller terminal shows them\n", shown.join("\n"))
}

/// Returns why there is no news, and what was shown last with its age.
fn without_news(failure: &Failure, last: Option<&LastPage>) -> String {
    let message = &failure.message;
    let (since, before) = match last {
        None => ("no news yet".to_owned(), String::new()),
        Some(LastPage { text, at }) => {
            (format!("no news for {}", span(at.elapsed())), format!("before that:\n\n{text}"))
        }
    };
    format!("{}, trying again: {message}\n{before}", TextStyle::Bad.paint(&since))
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
