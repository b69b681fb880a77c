//! The command line: everything that people and scripts see of solocron.

mod args;
mod dispatch;
mod exec;
pub(crate) mod exit;
mod import;
mod operate;
mod print;
mod read;
mod serve;
pub(crate) mod session;
#[cfg(test)]
pub(crate) mod testing;

pub use args::completions::complete;
pub use args::exec::Locking;
pub use args::global::{Cli, CliCommand, GlobalArgs, ReadCommand};
pub use args::operate::Operating;
pub use dispatch::{main, read};
pub use exit::{Exit, Failure};
pub use print::output::Screen;
