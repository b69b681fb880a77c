//! The output of a run on another replica. If that does not answer, the end of the output is printed, which the store keeps.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{OutputReader, Screen};
use crate::job::{JobName, Outcome, RunId};
use crate::relay::OutputSource;
use crate::run::{LogStart, RunEntry};
use crate::store::{KEPT_ENTRIES, Store};
use crate::view::history::TickView;

use super::remote_text::{RemoteText, TextEnd, TextNews};
use super::{LogsArgs, head, print, say_end, show_tail};

/// How often the entry of a run that has ended is looked for, and the pause before it is looked for again: the replica may
/// record it a moment after the log is complete.
const ENTRY_TRIES: (u32, Duration) = (6, Duration::from_millis(500));

/// Of a run whose replica does not answer, and whose end the store does not have.
pub(in crate::cli) const NOT_KEPT: &str = "note: the store keeps nothing of its output\n";

/// Why no more is printed.
enum PrintEnd {
    /// Nobody reads stdout any more.
    ReaderGone,
    /// All that the run has printed so far was printed, and more is not wanted.
    UpToNow,
    /// No more follows.
    End(TextEnd),
}

/// Shows the output of a run that is not here.
pub(super) async fn show_elsewhere(
    args: &LogsArgs,
    store: &Arc<dyn Store>,
    newer: &TickView,
    here: Option<&RunEntry>,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let job = &newer.job;
    if let Some(RunEntry { tick, .. }) = here {
        screen.say(&format!("note: `solocron logs {job} --local` shows the last run here, of tick {tick}\n"));
    }
    screen.print(&head(newer, None))?;
    let (Some(node), Some(run)) = (newer.node.clone(), newer.run) else {
        return show_kept("it is not known which replica ran it", newer, args, screen);
    };
    let lines = args.tail.map(|lines| u32::try_from(lines).unwrap_or(u32::MAX));
    let start = lines.map_or(LogStart::Byte(0), LogStart::LastLines);
    let source = OutputSource { node, job: job.clone(), run };
    let text = RemoteText::new(Arc::clone(store), source, start, screen.out_colour);
    let mut text = if args.follow { text } else { text.up_to_now() };
    let end = print_all(&mut text, args, screen).await?;
    let (node, has_text) = (text.node().clone(), text.has_text);
    if matches!(end, PrintEnd::ReaderGone) || print(args, &text.rest(), screen)? == OutputReader::Gone {
        return Ok(Exit::Done);
    }
    let was_running = newer.outcome == Outcome::Running;
    let tries = match end {
        PrintEnd::End(TextEnd::Over | TextEnd::Absent) if was_running => ENTRY_TRIES.0,
        PrintEnd::End(TextEnd::Failed(_)) if was_running => 1,
        _ => 0,
    };
    let ended = entry_of(store.as_ref(), job, run, tries).await;
    let tick = ended.as_ref().unwrap_or(newer);
    match end {
        PrintEnd::End(TextEnd::Failed(why)) => return show_kept(&why, tick, args, screen),
        PrintEnd::End(TextEnd::Absent) if tick.outcome == Outcome::Running => {
            return show_kept(&format!("{node} does not run it, and has no log of it"), tick, args, screen);
        }
        PrintEnd::End(_) | PrintEnd::UpToNow | PrintEnd::ReaderGone => {}
    }
    if let Some(tick) = ended.as_ref().filter(|_| args.follow) {
        say_end(tick, run, screen);
    }
    if !has_text && args.tail != Some(0) {
        show_without_text(tick, &node.to_string(), args, screen)?;
    }
    Ok(Exit::Done)
}

/// Prints the output as it comes.
async fn print_all(
    text: &mut RemoteText,
    args: &LogsArgs,
    screen: &mut Screen<'_>,
) -> Result<PrintEnd, Failure> {
    let waits = format!("waiting for {} to answer", text.node());
    loop {
        let news = match text.has_answered() {
            true => text.next().await,
            false => screen.during(&waits, text.next()).await,
        };
        match news {
            TextNews::End(end) => return Ok(PrintEnd::End(end)),
            TextNews::Text { text, is_newest } => {
                if print(args, &text, screen)? == OutputReader::Gone {
                    return Ok(PrintEnd::ReaderGone);
                }
                if is_newest && !args.follow {
                    return Ok(PrintEnd::UpToNow);
                }
            }
        }
    }
}

/// Returns the entry of a run, if the store has it within so many tries.
async fn entry_of(store: &dyn Store, job: &JobName, run: RunId, tries: u32) -> Option<TickView> {
    for number in 0..tries {
        if number > 0 {
            sleep(ENTRY_TRIES.1).await;
        }
        // How it ended is not shown then.
        let history = store.history(std::slice::from_ref(job), KEPT_ENTRIES).await.unwrap_or_default();
        let found = history.iter().flat_map(|(_, entries)| entries).rfind(|entry| entry.run == Some(run));
        if let Some(entry) = found {
            return Some(TickView::decided(job, entry));
        }
    }
    None
}

/// Prints the end of the output that the store keeps, and why no more is printed.
fn show_kept(why: &str, tick: &TickView, args: &LogsArgs, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    screen.say(&format!("warning: {why}\n"));
    if tick.outcome == Outcome::Running {
        screen.say("note: it is still running; once it has ended, this command shows its last 4 KiB, if the store has them\n");
        return Ok(Exit::Failed);
    }
    if !has_tail(tick) {
        // Whether it printed anything is known to its replica alone.
        screen.say(NOT_KEPT);
        return Ok(Exit::Failed);
    }
    screen.say("note: these are its last 4 KiB, which the store keeps\n");
    show_tail(tick.tail.as_deref(), args, screen)?;
    Ok(Exit::Failed)
}

/// Prints, for a run whose replica has no log of it, the end of the output that the store keeps, and why.
fn show_without_text(
    tick: &TickView,
    node: &str,
    args: &LogsArgs,
    screen: &mut Screen<'_>,
) -> Result<(), Failure> {
    if tick.outcome == Outcome::Running {
        screen.say("note: it has printed nothing so far, or only to the replica's own log\n");
        return Ok(());
    }
    if has_tail(tick) {
        screen.say(&format!(
            "note: {node} has no log of it: it was deleted (`[logs]` in jobs.toml), or its output is in the replica's own log \
             only; these are its last 4 KiB\n"
        ));
    }
    show_tail(tick.tail.as_deref(), args, screen)
}

fn has_tail(tick: &TickView) -> bool {
    tick.tail.as_ref().is_some_and(|tail| !tail.is_empty())
}
