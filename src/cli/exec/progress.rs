//! What `exec` prints on stderr: what it waits for, why the command was stopped, and that its end was not recorded.

use std::time::Duration;

use crate::cli::args::exec::ExecArgs;
use crate::cli::exec::Task;
use crate::cli::print::output::Screen;
use crate::events::Event;
use crate::job::{JobName, Outcome, Reason};
use crate::view::text::time_format::span;

/// How long a command that does not wait for its lock waits for the store to answer.
const FOR_STORE: Duration = Duration::from_secs(2);

/// Follows the events of the run.
#[derive(Debug)]
pub(crate) struct ExecProgress {
    lock: JobName,
    lease: Duration,
    /// How long `exec` waits for a held lock; 0 without `--wait`.
    max_wait: Duration,
    /// Whether the wait is not shown (`--conflict-exit-code 0`), because cron mails everything that is printed.
    is_silent: bool,
    /// What `exec` waits for; `None` once the command has started.
    waits_for: Option<String>,
    /// Whether the end of the run is not in the store yet.
    is_unrecorded: bool,
}

impl ExecProgress {
    pub(crate) fn of(args: &ExecArgs, task: &Task) -> Self {
        let mut progress = Self {
            lock: task.lock.clone(),
            lease: task.lease,
            max_wait: args.wait.unwrap_or_default(),
            is_silent: args.conflict_exit_code == 0,
            waits_for: None,
            is_unrecorded: false,
        };
        progress.waits_for = Some(progress.store_awaited());
        progress
    }

    /// Processes an event, and prints it if the caller has to know of it.
    pub(crate) fn hear(&mut self, event: &Event, screen: &mut Screen<'_>) {
        let (lock, mut say) = (&self.lock, |text: &str| screen.say(&format!("{text}\n")));
        match event {
            Event::TickHeld { holder, .. } => {
                let max_wait = span(self.max_wait);
                self.waits_for = Some(match holder {
                    Some(node) => {
                        format!("lock `{lock}` is held by {node}: waiting for it, {max_wait} at most")
                    }
                    None => format!(
                        "waiting until lock `{lock}` is certainly free: 2s for a new name, one lease at most after its \
                         holder crashed"
                    ),
                });
            }
            Event::TickUndecided { .. } => self.waits_for = Some(self.store_awaited()),
            Event::RunStarted { .. } => {
                self.waits_for = None;
                screen.end_wait();
            }
            Event::LockLost { why, .. } => {
                say(&format!("error: lock `{lock}` is lost ({why}): the command is stopped"));
            }
            Event::RunEnded { verdict, .. } if verdict.outcome == Outcome::Killed => match verdict.reason {
                Some(Reason::Replaced) => say("the command was stopped: a newer run takes its place"),
                _ => say("the command was stopped by an operator (`solocron kill`)"),
            },
            Event::FinishDelayed { .. } => self.is_unrecorded = true,
            Event::RunRecorded { .. } => self.is_unrecorded = false,
            _ => {}
        }
    }

    /// Whether `exec` waits for something, and shows it.
    pub(crate) fn waits(&self) -> bool {
        self.waits_for.is_some() && !self.is_silent
    }

    /// Shows what `exec` waits for, once that takes longer than a moment.
    pub(crate) fn show_wait(&self, screen: &mut Screen<'_>) {
        if let Some(what) = self.waits_for.as_ref().filter(|_| !self.is_silent) {
            screen.wait(what);
        }
    }

    /// Prints a warning if the store did not record the end of the run.
    pub(crate) fn warn_if_unrecorded(&self, screen: &mut Screen<'_>) {
        if self.is_unrecorded {
            let (lock, lease) = (&self.lock, span(self.lease));
            screen.say(&format!(
                "warning: the end of the command could not be recorded: lock `{lock}` expires within {lease}\n"
            ));
        }
    }

    fn store_awaited(&self) -> String {
        format!("waiting for the store to answer, {} at most", span(self.max_wait.max(FOR_STORE)))
    }
}
