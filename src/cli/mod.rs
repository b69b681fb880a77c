//! The command line: what people and scripts see of solocron.

mod args;
mod exit;
mod session;

pub use args::Cli;
pub use exit::{Exit, Failure};
