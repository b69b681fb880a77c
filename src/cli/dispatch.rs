//! From the command line to a command, and from its result to an exit code.

use std::process::ExitCode;

use super::args::{Cli, Command};
use super::exit::Failure;
use super::{init, run};

/// Runs the command. Errors are printed here, and nowhere else.
pub fn main(cli: &Cli) -> ExitCode {
    let result = match &cli.command {
        Command::Run(_) if init::is_first() => init::run().map(ExitCode::from),
        Command::Run(args) => run::run(args, &cli.global).map(ExitCode::from),
        _ => Ok(ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|failure| {
        print(&failure);
        failure.exit.into()
    })
}

fn print(failure: &Failure) {
    if failure.drawn {
        anstream::eprint!("{}", failure.message);
    } else {
        anstream::eprintln!("error: {}", failure.message);
    }
}
