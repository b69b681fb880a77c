//! `completions`: what a shell needs to complete the command line, on stdout.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{Exit, Failure};
use super::screen::Screen;

/// Prints the completions of this shell.
pub(crate) fn run(shell: Shell, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "solocron", &mut script);
    screen.print_bytes(&script)?;
    Ok(Exit::Done)
}
