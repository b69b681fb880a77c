//! The terminal of this process: its width and height, and how this process takes it back from a command that ran in the foreground.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{getpgid, getpgrp, tcgetpgrp, tcsetpgrp};
use terminal_size::{Height, Width, terminal_size_of};

use crate::run::{end_by, is_descendant};

/// The assumed width of a terminal that does not report one.
const USUAL_COLUMNS: usize = 80;

/// Returns the width of the terminal; `None` if the stream is not a terminal.
pub(crate) fn columns_of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let told = || terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns));
    stream.is_terminal().then(|| told().unwrap_or(USUAL_COLUMNS))
}

/// Returns the height of the terminal; `None` if the stream is not a terminal, or the terminal does not report its height.
pub(crate) fn rows_of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let told = terminal_size_of(stream).map(|(_, Height(rows))| usize::from(rows));
    told.filter(|rows| *rows > 0 && stream.is_terminal())
}

/// Whether nothing that is on the terminal can be replaced.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Returns the width of stderr; `None` unless it is a terminal on which a line can be rewritten.
pub(crate) fn rewritable_columns() -> Option<usize> {
    columns_of(&io::stderr()).filter(|_| !is_dumb())
}

/// The terminal of this process, if the process was in its foreground.
#[derive(Debug)]
pub(crate) struct Terminal {
    is_ours: bool,
}

impl Terminal {
    /// Call this before a command is started, on the thread that calls `take_back`. It blocks SIGTTOU on that thread: while the
    /// command has the terminal, writing to it must not stop the thread.
    pub(crate) fn of_process() -> Self {
        let input = io::stdin();
        let is_ours = input.is_terminal() && tcgetpgrp(input.as_fd()).is_ok_and(|group| group == getpgrp());
        if is_ours {
            let mut stops = SigSet::empty();
            stops.add(Signal::SIGTTOU);
            // If that fails, the worst case is a stop that `fg` ends.
            let _ = stops.thread_block();
        }
        Self { is_ours }
    }

    /// Takes the terminal back from the command. Returns whether the command had it.
    pub(crate) fn take_back(self) -> bool {
        let is_the_commands = || {
            // While this process was in the background, a shell or another program may have taken the terminal.
            let group = tcgetpgrp(io::stdin().as_fd());
            group.is_ok_and(|leader| getpgid(Some(leader)).is_err() || is_descendant(leader))
        };
        // If the terminal is gone, `tcgetpgrp` has failed, and the command does not have it.
        self.is_ours && is_the_commands() && tcsetpgrp(io::stdin().as_fd(), getpgrp()).is_ok()
    }
}

/// Sends SIGINT to this process group, after Ctrl-C has ended the command. The command alone had the terminal, so that the
/// other processes that were in the foreground before did not get the signal. A script that runs this process ends with it, and
/// so does this process.
pub(crate) fn pass_interrupt_on() {
    if end_by(Signal::SIGINT).is_ok() {
        // A process may always signal its own group. If that fails all the same, the exit code still shows the signal.
        let _ = killpg(getpgrp(), Signal::SIGINT);
    }
}
