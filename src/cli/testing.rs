//! Parses command lines for tests, and captures what commands print.

use std::io::{self, Write};

use clap::Parser;
use tokio::sync::mpsc;

use super::args::global::{Cli, CliCommand, ReadCommand};
use super::print::output::Screen;

/// Returns the reading command of this command line.
pub(crate) fn reading(line: &str) -> ReadCommand {
    let words = std::iter::once("solocron").chain(line.split_whitespace());
    match Cli::try_parse_from(words).expect("a good command line").command {
        CliCommand::Read(reading) => reading,
        CliCommand::Run(_)
        | CliCommand::Reload
        | CliCommand::Drain(_)
        | CliCommand::Operate(_)
        | CliCommand::Lock(_)
        | CliCommand::Store(_) => {
            panic!("`{line}` changes something")
        }
    }
}

/// Runs a command. Returns its result, and what it printed to stdout and stderr, without colours.
pub(crate) async fn printed<T>(command: impl AsyncFnOnce(&mut Screen<'_>) -> T) -> (T, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::plain(&mut out, &mut err);
    let result = command(&mut screen).await;
    drop(screen);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (result, text(out), text(err))
}

/// Passes on what is written to it.
pub(crate) struct Wire(pub(crate) mpsc::UnboundedSender<String>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads what was written until this text comes.
pub(crate) async fn until(wire: &mut mpsc::UnboundedReceiver<String>, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        seen.push_str(&wire.recv().await.unwrap_or_else(|| panic!("ended without `{text}`: {seen}")));
    }
}
