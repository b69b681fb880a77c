//! The `solocron` program: everything is in the library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    solocron::cli::main(&solocron::cli::Cli::parse())
}
