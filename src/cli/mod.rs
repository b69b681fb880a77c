//! The command line: what people and scripts see of solocron.

mod args;
mod check;
mod completions;
mod dispatch;
mod exit;
mod history;
mod init;
mod log_text;
mod log_writer;
mod logging;
mod logs;
mod man;
mod named;
mod next;
mod past;
mod reading;
mod replicas;
mod run;
mod screen;
mod session;
mod status;
mod status_table;
mod status_view;
mod survey;
mod table;
#[cfg(test)]
mod testing;
mod times;
mod tone;
mod trouble;

pub use args::{Cli, Command, GlobalArgs, Reading};
pub use dispatch::main;
pub use exit::{Exit, Failure};
pub use reading::read;
pub use screen::Screen;
