//! From the command line to a command, and from its result to an exit code.

use std::process::ExitCode;

use crate::clock::{Clock, SystemClock};

use super::args::{Cli, Command, GlobalArgs, Reading};
use super::exit::{Exit, Failure};
use super::screen::Screen;
use super::{init, reading, run};

/// Runs the command. Errors are printed here, and nowhere else.
pub fn main(cli: &Cli) -> ExitCode {
    let result = match &cli.command {
        Command::Run(_) if init::is_first() => init::run().map(ExitCode::from),
        Command::Run(args) => run::run(args, &cli.global).map(ExitCode::from),
        Command::Read(command) => read(command, &cli.global).map(ExitCode::from),
    };
    result.unwrap_or_else(|failure| {
        print(&failure);
        failure.exit.into()
    })
}

fn read(command: &Reading, global: &GlobalArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Failed, format!("no runtime: {error}")))?;
    runtime.block_on(reading::read(command, global, SystemClock.utc(), &mut Screen::of_process()))
}

fn print(failure: &Failure) {
    if failure.drawn {
        anstream::eprint!("{}", failure.message);
    } else {
        anstream::eprintln!("error: {}", failure.message);
    }
}
