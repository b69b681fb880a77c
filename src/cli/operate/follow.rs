//! Follows a triggered run to its end. If its log is on this machine, its output is printed as it is written; else the end of
//! the output, which the store keeps, is printed after the run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::exit::Failure;
use crate::cli::print::output::Screen;
use crate::cli::read::logs::reader::LogText;
use crate::cli::read::logs::unreadable;
use crate::job::{JobName, NodeName, RunId};
use crate::lease::{HistoryEntry, Record};
use crate::operate::OperateError;
use crate::operate::operator::Operator;
use crate::operate::outage::OutageWait;
use crate::operate::wait::LOOK_EVERY;
use crate::run::{RunError, RunLogs};
use crate::time::{Clock, SystemClock};

use super::show_wait::wait_out;

/// If a run has been over for this long without an entry in the history, it will never have one.
const ENTRY_LIMIT: Duration = Duration::from_secs(3);

/// If the sign of a run is not on this machine by then, the run is on another machine.
const SIGN_WITHIN: Duration = Duration::from_secs(1);

/// How long after the end of a run its log is complete.
const LOG_WITHIN: Duration = Duration::from_secs(10);

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

/// Prints the output of the run, and waits for its end, however long that takes. Returns the run's entry.
pub(super) async fn follow(
    operator: &Operator,
    run: RunId,
    state_dir: &Path,
    screen: &mut Screen<'_>,
) -> Result<HistoryEntry, Failure> {
    let mut log = LocalLog::of(&operator.job.name, run, state_dir, screen);
    let (began, mut over_since, mut outage) = (Instant::now(), None::<Instant>, OutageWait::default());
    let mut elsewhere = None;
    loop {
        log.print_new(screen)?;
        if let Some(node) = elsewhere.as_ref().filter(|_| !outage.is_under_way()) {
            let what = format!("waiting for the end of the run on {node}; Ctrl-C does not stop it");
            screen.wait(&what);
        }
        if let Some((record, entry)) = wait_out(&mut outage, look(operator, run).await, screen)? {
            if let Some(entry) = entry {
                screen.end_wait();
                log.print_rest(&entry, screen).await?;
                return Ok(entry);
            }
            // The end and its entry are written in one step: an entry that is missing now was deleted.
            let is_over =
                !record.is_running() && over_since.get_or_insert_with(Instant::now).elapsed() > ENTRY_LIMIT;
            if record.run != Some(run) || is_over {
                return Err(unknown_end(&operator.job.name, run));
            }
            if !log.is_here && elsewhere.is_none() && began.elapsed() > SIGN_WITHIN {
                let node = record.owner.as_ref().map_or("another node", NodeName::as_str).to_owned();
                screen.say(&format!("runs on {node}; its output is printed when it has ended\n"));
                elsewhere = Some(node);
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

    /// Prints, after the end of the run, the rest of its log; if the log is not here, the end of the output that the store
    /// keeps.
    async fn print_rest(mut self, entry: &HistoryEntry, screen: &mut Screen<'_>) -> Result<(), Failure> {
        let began = Instant::now();
        while self.logs.is_running(self.job, self.run) && began.elapsed() < LOG_WITHIN {
            sleep(LOOK_EVERY).await;
        }
        let failed = |error: RunError| Failure::failed(error.to_string());
        self.is_here = self.is_here || self.logs.find(self.run).map_err(failed)?.is_some();
        self.print_new(screen)?;
        if !self.has_printed {
            return print_kept(entry, self.is_here, screen);
        }
        screen.print_output(&self.text.rest()).map(drop)
    }
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
