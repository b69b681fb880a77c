//! The `solocron` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    solocron::run::guards_main().unwrap_or_else(|| solocron::cli::main(&solocron::cli::Cli::of_process()))
}
