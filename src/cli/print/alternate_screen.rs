//! A screen of its own on the terminal, as pagers have one: what was there before comes back when the command ends, in whatever
//! way.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, read, tcgetpgrp};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::exit::Exit;

/// Changes to the other screen of a terminal, and back.
const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";

/// The key that leaves the screen.
const LEAVE: u8 = b'q';

/// Switches a key of the terminal off, such as the one that suspends a command.
const NO_KEY: u8 = nix::libc::_POSIX_VDISABLE;

/// The other screen of the terminal that is stdout. It is left when this is dropped.
#[derive(Debug)]
pub(crate) struct AlternateScreen {
    /// `None` if stdin is no terminal, or if another process has its keys.
    keyboard: Option<Keyboard>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
}

/// A terminal that passes each key on at once and shows none.
#[derive(Debug)]
struct Keyboard {
    input: AsyncFd<io::Stdin>,
    before: Termios,
}

impl AlternateScreen {
    /// Changes to the other screen. From now on, signals that end a command are for [`leaving`](Self::leaving).
    pub(crate) fn enter() -> io::Result<Self> {
        let this = Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            keyboard: Keyboard::take(),
        };
        write_out(ENTERED)?;
        Ok(this)
    }

    /// Waits for the key `q`, or for a signal. Returns how the command ends.
    pub(crate) async fn leaving(&mut self) -> Exit {
        let Self { keyboard, interrupt, terminate, hangup, quit } = self;
        let kind = tokio::select! {
            () = leave_key(keyboard.as_ref()) => return Exit::Done,
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hangup.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
        };
        Exit::by_signal(kind.as_raw_value())
    }
}

impl Drop for AlternateScreen {
    fn drop(&mut self) {
        if let Some(keyboard) = &self.keyboard {
            // What was typed and not read is not for the shell.
            let _ = tcsetattr(keyboard.input.get_ref(), SetArg::TCSAFLUSH, &keyboard.before);
        }
        // If the terminal is gone, so is its screen.
        let _ = write_out(LEFT);
    }
}

impl Keyboard {
    /// Takes the keys of the terminal that is stdin, if this process is in its foreground. Ctrl-C still sends its signal; Ctrl-Z
    /// does nothing, as the shell would get the terminal as it is here.
    fn take() -> Option<Self> {
        let input = io::stdin();
        let is_ours = input.is_terminal() && tcgetpgrp(input.as_fd()).is_ok_and(|group| group == getpgrp());
        let before = tcgetattr(&input).ok().filter(|_| is_ours)?;
        #[expect(
            deprecated,
            reason = "its successor asks for a promise that stdin keeps: nothing here closes or replaces it"
        )]
        let input = AsyncFd::with_interest(input, Interest::READABLE).ok()?;
        let mut keys = before.clone();
        keys.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        keys.control_chars[SpecialCharacterIndices::VSUSP as usize] = NO_KEY;
        // A read returns at once, with or without a key.
        keys.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        keys.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(input.get_ref(), SetArg::TCSANOW, &keys).ok()?;
        Some(Self { input, before })
    }
}

/// Waits for the key that leaves the screen, or until the terminal is gone; without a keyboard, for ever.
async fn leave_key(keyboard: Option<&Keyboard>) {
    let Some(Keyboard { input, .. }) = keyboard else { return std::future::pending().await };
    let mut keys = [0; 64];
    while let Ok(mut ready) = input.readable().await {
        let count = read(input.get_ref(), &mut keys).unwrap_or_default();
        if keys[..count].contains(&LEAVE) || ready.ready().is_read_closed() {
            return;
        }
        ready.clear_ready();
    }
}

fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}
