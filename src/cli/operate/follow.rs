//! Follows a triggered run to its end, and prints its output as it comes: from its log if that is on this machine, else from
//! its replica, which is asked through the store. Of a replica that does not answer, the end of the output is printed after the
//! run, which the store keeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::exit::Failure;
use crate::cli::print::output::Screen;
use crate::cli::read::logs::elsewhere::NOT_KEPT;
use crate::cli::read::logs::reader::LogText;
use crate::cli::read::logs::remote_text::{RemoteText, TextNews};
use crate::cli::read::logs::unreadable;
use crate::job::{JobName, NodeName, RunId};
use crate::lease::{HistoryEntry, Record};
use crate::operate::OperateError;
use crate::operate::operator::Operator;
use crate::operate::outage::OutageWait;
use crate::operate::wait::LOOK_EVERY;
use crate::relay::OutputSource;
use crate::run::{LogStart, RunError, RunLogs};
use crate::time::{Clock, SystemClock};

use super::show_wait::wait_out;

/// If a run has been over for this long without an entry in the history, it will never have one.
const ENTRY_LIMIT: Duration = Duration::from_secs(3);

/// If the sign of a run is not on this machine by then, the run is on another machine.
const SIGN_WITHIN: Duration = Duration::from_secs(1);

/// How long after the end of a run its log is complete.
const LOG_WITHIN: Duration = Duration::from_secs(10);

/// So many pieces of output are printed before the record is read again.
const PIECES: usize = 16;

/// The log of a run, if it is on this machine.
struct LocalLog<'a> {
    logs: RunLogs,
    job: &'a JobName,
    run: RunId,
    path: PathBuf,
    text: LogText,
    /// Whether the run is on this machine.
    is_here: bool,
    has_printed: bool,
}

/// The output of a run that is on another machine.
struct RemoteLog {
    /// The replica's name.
    node: String,
    /// `None` once no more comes.
    text: Option<RemoteText>,
    has_printed: bool,
    /// Whether some of it was not received, which was said.
    has_failed: bool,
}

/// Prints the output of the run, and waits for its end, however long that takes. Returns the run's entry.
pub(super) async fn follow(
    operator: &Operator,
    run: RunId,
    state_dir: &Path,
    screen: &mut Screen<'_>,
) -> Result<HistoryEntry, Failure> {
    let mut log = LocalLog::of(&operator.job.name, run, state_dir, screen);
    let (began, mut over_since, mut outage) = (Instant::now(), None::<Instant>, OutageWait::default());
    let mut elsewhere: Option<RemoteLog> = None;
    loop {
        log.print_new(screen)?;
        if let Some(remote) = &mut elsewhere {
            remote.print_new(screen).await?;
            if !outage.is_under_way() {
                let node = &remote.node;
                screen.wait(&format!("waiting for the end of the run on {node}; Ctrl-C does not stop it"));
            }
        }
        if let Some((record, entry)) = wait_out(&mut outage, look(operator, run).await, screen)? {
            if let Some(entry) = entry {
                screen.end_wait();
                let remote = match elsewhere {
                    None if !log.is_found()? => RemoteLog::of_ended(operator, run, &entry, screen),
                    remote => remote,
                };
                match remote {
                    Some(remote) => remote.print_rest(&entry, screen).await?,
                    None => log.print_rest(&entry, screen).await?,
                }
                return Ok(entry);
            }
            // The end and its entry are written in one step: an entry that is missing now was deleted.
            let is_over =
                !record.is_running() && over_since.get_or_insert_with(Instant::now).elapsed() > ENTRY_LIMIT;
            if record.run != Some(run) || is_over {
                return Err(unknown_end(&operator.job.name, run));
            }
            if !log.is_here && elsewhere.is_none() && began.elapsed() > SIGN_WITHIN {
                elsewhere = Some(RemoteLog::of_running(operator, run, record.owner, screen));
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Returns the job's record and, once the run has ended, its entry.
async fn look(operator: &Operator, run: RunId) -> Result<(Record, Option<HistoryEntry>), OperateError> {
    let record = operator.record().await?;
    let is_running = record.is_running() && record.run == Some(run);
    let entry = if is_running { None } else { operator.entry(run).await? };
    Ok((record, entry))
}

fn unknown_end(job: &JobName, run: RunId) -> Failure {
    let message = format!(
        "run {run} has ended, and its outcome is not in the store\n  help: its log is on the replica that ran it: \
         `solocron logs {job} --run {run}`"
    );
    Failure::failed(message)
}

impl<'a> LocalLog<'a> {
    fn of(job: &'a JobName, run: RunId, state_dir: &Path, screen: &Screen<'_>) -> Self {
        let logs = RunLogs::new(state_dir, Arc::new(|| SystemClock.utc()));
        let path = logs.log_path(job, run);
        let text = LogText::new(path.clone(), screen.out_colour);
        Self { logs, job, run, path, text, is_here: false, has_printed: false }
    }

    /// Prints what was written since the last call.
    fn print_new(&mut self, screen: &mut Screen<'_>) -> Result<(), Failure> {
        self.is_here = self.is_here || self.logs.is_running(self.job, self.run);
        while let Some(piece) = self.text.next_piece().map_err(|error| unreadable(&self.path, &error))? {
            self.has_printed = true;
            screen.print_output(&piece)?;
        }
        Ok(())
    }

    /// Whether the run is or was on this machine.
    fn is_found(&mut self) -> Result<bool, Failure> {
        let failed = |error: RunError| Failure::failed(error.to_string());
        // In this order: a run that ends in between is found by one of both.
        self.is_here = self.is_here || self.logs.is_running(self.job, self.run);
        self.is_here = self.is_here || self.logs.find(self.run).map_err(failed)?.is_some();
        Ok(self.is_here)
    }

    /// Prints, after the end of the run, the rest of its log; if the log is not here, the end of the output that the store
    /// keeps.
    async fn print_rest(mut self, entry: &HistoryEntry, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let began = Instant::now();
        while self.logs.is_running(self.job, self.run) && began.elapsed() < LOG_WITHIN {
            sleep(LOOK_EVERY).await;
        }
        self.is_found()?;
        self.print_new(screen)?;
        if !self.has_printed {
            return print_kept(entry, self.is_here, screen);
        }
        screen.print_output(&self.text.rest()).map(drop)
    }
}

impl RemoteLog {
    /// Returns the output of the run that is running on this replica, and prints which one that is.
    fn of_running(operator: &Operator, run: RunId, owner: Option<NodeName>, screen: &mut Screen<'_>) -> Self {
        let node = owner.as_ref().map_or("another node", NodeName::as_str).to_owned();
        screen.say(&format!("runs on {node}\n"));
        let text = owner.map(|node| text_of(operator, run, node, screen));
        Self { node, text, has_printed: false, has_failed: false }
    }

    /// Returns the output of a run that has ended; `None` if nothing was run.
    fn of_ended(operator: &Operator, run: RunId, entry: &HistoryEntry, screen: &Screen<'_>) -> Option<Self> {
        let node = entry.node.clone().filter(|_| entry.started.is_some())?;
        let (name, text) = (node.to_string(), text_of(operator, run, node, screen));
        Some(Self { node: name, text: Some(text), has_printed: false, has_failed: false })
    }

    /// Prints what has come since the last call.
    async fn print_new(&mut self, screen: &mut Screen<'_>) -> Result<(), Failure> {
        for _ in 0..PIECES {
            let Some(text) = &mut self.text else { return Ok(()) };
            let Some(news) = text.look().await else { return Ok(()) };
            if self.print(news, screen)? {
                screen.say(
                    "note: if that lasts, the end of the output is printed once the run has ended, if the store has it\n",
                );
            }
        }
        Ok(())
    }

    /// Prints news of the output. Returns whether it has just been said that the rest of it cannot be received.
    fn print(&mut self, news: TextNews, screen: &mut Screen<'_>) -> Result<bool, Failure> {
        let why = match news {
            TextNews::Text { text, .. } => {
                self.has_failed = false;
                // Every second without output.
                if !text.is_empty() {
                    self.has_printed = true;
                    screen.print_output(&text)?;
                }
                return Ok(false);
            }
            TextNews::Silent(_) if self.has_failed => return Ok(false),
            TextNews::Silent(why) => why,
            TextNews::End(end) => {
                self.end(screen)?;
                let Some(why) = end.complaint(&self.node) else {
                    self.has_failed = false;
                    return Ok(false);
                };
                why
            }
        };
        screen.say(&format!("warning: {why}\n"));
        self.has_failed = true;
        Ok(true)
    }

    /// Prints a last line without its newline. No more comes.
    fn end(&mut self, screen: &mut Screen<'_>) -> Result<(), Failure> {
        self.text.take().map_or(Ok(()), |text| screen.print_output(&text.rest()).map(drop))
    }

    /// Prints, after the end of the run, the rest of its output or, if that is not to be had, the end that the store keeps.
    async fn print_rest(mut self, entry: &HistoryEntry, screen: &mut Screen<'_>) -> Result<(), Failure> {
        while let Some(text) = &mut self.text {
            let news = text.next().await;
            let is_silent = matches!(news, TextNews::Silent(_));
            self.print(news, screen)?;
            if is_silent {
                self.end(screen)?;
            }
        }
        if self.has_failed && entry.tail.as_ref().is_none_or(String::is_empty) {
            screen.say(NOT_KEPT);
            return Ok(());
        }
        if self.has_printed && !self.has_failed { Ok(()) } else { print_kept(entry, false, screen) }
    }
}

/// Returns the whole output of a run on this replica.
fn text_of(operator: &Operator, run: RunId, node: NodeName, screen: &Screen<'_>) -> RemoteText {
    let source = OutputSource { node, job: operator.job.name.clone(), run };
    RemoteText::new(Arc::clone(&operator.store), source, LogStart::Byte(0), screen.out_colour)
}

/// Prints the end of the output that the store keeps.
fn print_kept(entry: &HistoryEntry, is_here: bool, screen: &mut Screen<'_>) -> Result<(), Failure> {
    let Some(tail) = entry.tail.as_ref().filter(|tail| !tail.is_empty()) else {
        if entry.run.is_some() && entry.node.is_some() {
            screen.say("it printed nothing\n");
        }
        return Ok(());
    };
    if is_here {
        screen.say("note: its output is in the replica's own log; these are its last 4 KiB\n");
    }
    screen.print_output(tail.as_bytes())?;
    if tail.ends_with('\n') { Ok(()) } else { screen.print_output(b"\n").map(drop) }
}
