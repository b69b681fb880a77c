//! Converts a crontab to a jobs.toml. Pure: takes bytes and the machine's time zone, returns the text of a jobs.toml that
//! `solocron check` accepts, and a list of everything that it does not contain.

mod command;
mod conversion;
mod environment;
mod job;
mod line;
mod naming;
mod output;
#[cfg(test)]
mod tests;
mod times;

pub(crate) use conversion::{Conversion, Crontab};
pub(crate) use line::Form;
