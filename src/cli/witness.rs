//! What `exec` says on stderr while it goes on: that the lock is lost; who waits at a terminal also hears for what.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::job::{JobName, Outcome, Reason};
use crate::replica::Event;

use super::escapes::tame_text;
use super::times::span;

/// Hears what happens to the run.
#[derive(Debug)]
pub(crate) struct Witness {
    lock: JobName,
    lease: Duration,
    /// Whether the store did not take down the end of the run.
    is_unrecorded: bool,
}

impl Witness {
    pub(crate) fn new(lock: JobName, lease: Duration) -> Self {
        Self { lock, lease, is_unrecorded: false }
    }

    /// Says what is worth saying of it.
    pub(crate) fn hear(&mut self, event: &Event) {
        let lock = &self.lock;
        match event {
            Event::TickHeld { holder, .. } if io::stderr().is_terminal() => match holder {
                Some(node) => say(&format!("lock `{lock}` is held by {node}: waiting")),
                None => say(&format!("waiting until lock `{lock}` is sure to be free")),
            },
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

    /// All is over.
    pub(crate) fn sum_up(&self) {
        if self.is_unrecorded {
            let (lock, lease) = (&self.lock, span(self.lease));
            say(&format!(
                "warning: the store did not hear of the command's end: lock `{lock}` frees itself within {lease}"
            ));
        }
    }
}

fn say(text: &str) {
    // There is nobody to tell when that fails.
    let _ = writeln!(anstream::stderr(), "{}", tame_text(text));
}
