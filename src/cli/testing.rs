//! Parses command lines for tests, and captures what commands print.

use clap::Parser;

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
        | CliCommand::Lock(_) => {
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
