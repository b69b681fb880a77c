//! What is known of the terminal; and how a command has it while it runs in the foreground, and gives it back at its end.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{getpgid, getpgrp, tcgetpgrp, tcsetpgrp};
use terminal_size::{Width, terminal_size_of};

use crate::run::{end_by, is_descendant};

/// The width of a terminal that does not tell it.
const USUAL_COLUMNS: usize = 80;

/// The width of the terminal that this is, if it is one.
pub(crate) fn columns_of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let told = || terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns));
    stream.is_terminal().then(|| told().unwrap_or(USUAL_COLUMNS))
}

/// The width of stderr, where that is a terminal that can rewrite a line.
pub(crate) fn rewritable_columns() -> Option<usize> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    columns_of(&io::stderr()).filter(|_| !is_dumb)
}

/// This process's terminal, if it was in its foreground.
#[derive(Debug)]
pub(crate) struct Terminal {
    is_ours: bool,
}

impl Terminal {
    /// To be asked before a command is started, on the thread that calls `take_back`: writing to the terminal no longer
    /// stops that thread when the command has it.
    pub(crate) fn of_process() -> Self {
        let input = io::stdin();
        let is_ours = input.is_terminal() && tcgetpgrp(input.as_fd()).is_ok_and(|group| group == getpgrp());
        if is_ours {
            let mut stops = SigSet::empty();
            stops.add(Signal::SIGTTOU);
            // Without it, the worst is a stop that `fg` ends.
            let _ = stops.thread_block();
        }
        Self { is_ours }
    }

    /// Takes it back from the command; whether that had it.
    pub(crate) fn take_back(self) -> bool {
        let is_the_commands = || {
            // While this process was in the background, it may have become a shell's, or another program's.
            let group = tcgetpgrp(io::stdin().as_fd());
            group.is_ok_and(|leader| getpgid(Some(leader)).is_err() || is_descendant(leader))
        };
        // A terminal that has gone is nobody's.
        self.is_ours && is_the_commands() && tcsetpgrp(io::stdin().as_fd(), getpgrp()).is_ok()
    }
}

/// Ctrl-C ended the command, which alone had the terminal: everybody who was in its foreground before gets it, too. A script
/// ends with it, and so does this process.
pub(crate) fn pass_interrupt_on() {
    if end_by(Signal::SIGINT).is_ok() {
        // Nobody refuses signals to oneself; and if somebody did, the exit code would tell.
        let _ = killpg(getpgrp(), Signal::SIGINT);
    }
}
