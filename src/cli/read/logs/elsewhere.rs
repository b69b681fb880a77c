//! The output of a run on another replica. If that does not answer, the end of the output is printed, which the store keeps; a
//! replica that is followed is waited for while it may hold the run's lock.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{OutputReader, Screen};
use crate::job::{JobName, Outcome, RunId};
use crate::lease::Record;
use crate::operate::outage::OutageWait;
use crate::relay::OutputSource;
use crate::run::{LogStart, RunEntry};
use crate::store::{KEPT_ENTRIES, Store, StoreError};
use crate::view::history::TickView;

use super::remote_text::{RemoteText, TextEnd, TextNews};
use super::{LogsArgs, head, print, say_end, show_tail};

/// How often the entry of a run that has ended is looked for, and the pause before it is looked for again: the replica may
/// record it a moment after the log is complete.
const ENTRY_TRIES: (u32, Duration) = (6, Duration::from_millis(500));

/// After the end of a lock, a living replica records the end of its run within this time.
const RECORDED_WITHIN: Duration = Duration::from_secs(5);

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
    /// The replica does not answer, for this reason.
    Silent(String),
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
        show_kept("it is not known which replica ran it", newer, args, screen)?;
        return Ok(Exit::Failed);
    };
    let lines = args.tail.map(|lines| u32::try_from(lines).unwrap_or(u32::MAX));
    let start = lines.map_or(LogStart::Byte(0), LogStart::LastLines);
    let source = OutputSource { node, job: job.clone(), run };
    let text = RemoteText::new(Arc::clone(store), source.clone(), start, screen.out_colour);
    let mut text = if args.follow { text } else { text.up_to_now() };
    let end = print_all(&mut text, args, store.as_ref(), screen).await?;
    screen.end_wait();
    let has_text = text.has_text;
    if matches!(end, PrintEnd::ReaderGone) || print(args, &text.rest(), screen)? == OutputReader::Gone {
        return Ok(Exit::Done);
    }
    let was_running = newer.outcome == Outcome::Running;
    let tries = match end {
        PrintEnd::End(TextEnd::Over | TextEnd::Absent) if was_running => ENTRY_TRIES.0,
        PrintEnd::End(_) | PrintEnd::Silent(_) if was_running => 1,
        _ => 0,
    };
    let ended = entry_of(store.as_ref(), job, run, tries).await;
    let tick = ended.as_ref().unwrap_or(newer);
    let is_running = tick.outcome == Outcome::Running;
    let why_not_all = match end {
        PrintEnd::Silent(why) if args.follow && is_running => return Err(lost(&why, &source)),
        PrintEnd::End(TextEnd::NotAsked(error)) if is_running && !matches!(error, StoreError::Refused(_)) => {
            return Err(Failure::store(&store.label(), &error));
        }
        end => end.why_not_all(&source, is_running),
    };
    if let Some(why) = &why_not_all {
        show_kept(why, tick, args, screen)?;
    }
    if let Some(tick) = ended.as_ref().filter(|_| args.follow) {
        say_end(tick, run, screen);
    }
    if why_not_all.is_none() && !has_text && args.tail != Some(0) {
        show_without_text(tick, &source.node.to_string(), args, screen)?;
    }
    Ok(if why_not_all.is_none() { Exit::Done } else { Exit::Failed })
}

impl PrintEnd {
    /// Returns why not all of the output was printed; `None` if it was.
    fn why_not_all(self, source: &OutputSource, is_running: bool) -> Option<String> {
        let node = source.node.as_str();
        match self {
            Self::Silent(why) => Some(why),
            Self::End(TextEnd::Absent) if is_running => {
                Some(format!("{node} does not run it, and has no log of it"))
            }
            Self::End(end) => end.complaint(node),
            Self::UpToNow | Self::ReaderGone => None,
        }
    }
}

/// Prints the output as it comes. With `--follow`, a replica that does not answer is waited for while the run may continue.
async fn print_all(
    text: &mut RemoteText,
    args: &LogsArgs,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<PrintEnd, Failure> {
    let (mut silent, mut lapsed) = (None, None);
    loop {
        if let Some(what) = awaited(text, silent.as_deref()) {
            screen.wait(&what);
        }
        match text.look_for_a_moment().await {
            None => {}
            Some(TextNews::End(end)) => return Ok(PrintEnd::End(end)),
            Some(TextNews::Silent(why)) => {
                if !args.follow || !may_continue(text.source(), store, &mut lapsed).await {
                    return Ok(PrintEnd::Silent(why));
                }
                silent = Some(why);
            }
            Some(TextNews::Text { text, is_newest }) => {
                screen.end_wait();
                (silent, lapsed) = (None, None);
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

/// Returns what is waited for, if it is more than that the run prints something. `silent` says why its replica does not answer.
fn awaited(text: &RemoteText, silent: Option<&str>) -> Option<String> {
    if text.is_store_away() {
        return Some(OutageWait::default().to_string());
    }
    let node = text.node();
    match silent {
        Some(why) => Some(format!("{why}: waiting for it while the run may continue")),
        None => (!text.has_answered()).then(|| format!("waiting for {node} to answer")),
    }
}

/// Whether a run whose replica does not answer may continue, as far as the store tells: its lock is held, or has ended just now.
/// `lapsed` is since when it is known that the lock has ended.
async fn may_continue(source: &OutputSource, store: &dyn Store, lapsed: &mut Option<Instant>) -> bool {
    let record = match store.record_of(&source.job).await {
        Ok(record) => record,
        // While the store does not answer, nothing is known.
        Err(error) => return !matches!(error, StoreError::Refused(_)),
    };
    let is_it = |record: &Record| record.is_running() && record.run == Some(source.run);
    let Some(record) = record.filter(is_it) else { return false };
    let Ok(pulse) = store.pulse(None).await else { return true };
    if !record.has_lapsed(pulse.now) {
        *lapsed = None;
        return true;
    }
    lapsed.get_or_insert_with(Instant::now).elapsed() < RECORDED_WITHIN
}

/// Returns the error about a followed run: its replica does not answer, and no replica has recorded its end.
fn lost(why: &str, OutputSource { job, run, .. }: &OutputSource) -> Failure {
    Failure::failed(format!(
        "{why}, the lock of run {run} has ended, and the store does not know how the run ended\n  help: `solocron status {job}` \
         shows whether a replica is up, which records it"
    ))
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
fn show_kept(why: &str, tick: &TickView, args: &LogsArgs, screen: &mut Screen<'_>) -> Result<(), Failure> {
    screen.say(&format!("warning: {why}\n"));
    if tick.outcome == Outcome::Running {
        screen.say("note: its end is not recorded yet; once it is, this command shows its last 4 KiB, if the store has them\n");
        say_where(tick, args, screen);
        return Ok(());
    }
    if !has_tail(tick) {
        // Whether it printed anything is known to its replica alone.
        screen.say(NOT_KEPT);
        say_where(tick, args, screen);
        return Ok(());
    }
    screen.say("note: these are its last 4 KiB, which the store keeps\n");
    show_tail(tick.tail.as_deref(), args, screen)
}

/// Prints where the output may be.
fn say_where(tick: &TickView, args: &LogsArgs, screen: &mut Screen<'_>) {
    if let (Some(node), Some(run)) = (&tick.node, tick.run) {
        screen.say(&format!(
            "note: its output may be on {node}: there, `solocron logs {} --run {run} --local` shows it\n",
            args.job
        ));
    }
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
