//! The terminal that a command has while it runs in the foreground, and gives back at its end.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{getpgid, getpgrp, tcgetpgrp, tcsetpgrp};

use crate::run::is_descendant;

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

    /// Takes it back from the command.
    pub(crate) fn take_back(self) {
        let is_the_commands = || {
            // While this process was in the background, it may have become a shell's, or another program's.
            let group = tcgetpgrp(io::stdin().as_fd());
            group.is_ok_and(|leader| getpgid(Some(leader)).is_err() || is_descendant(leader))
        };
        if self.is_ours && is_the_commands() {
            // A terminal that has gone is nobody's.
            let _ = tcsetpgrp(io::stdin().as_fd(), getpgrp());
        }
    }
}
