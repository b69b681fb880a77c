//! The `solocron` program: all of its code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let special = solocron::run::guards_main().or_else(solocron::cli::complete);
    special.unwrap_or_else(|| solocron::cli::main(&solocron::cli::Cli::of_process()))
}
