//! The command line: what people and scripts see of solocron.

mod args;
mod dispatch;
mod exit;
mod init;
mod logging;
mod replicas;
mod run;
mod session;

pub use args::Cli;
pub use dispatch::main;
pub use exit::{Exit, Failure};
