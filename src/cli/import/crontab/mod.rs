//! A crontab becomes a jobs.toml. Pure: bytes and the machine's time zone go in, the text of a jobs.toml comes out, which
//! `solocron check` accepts, with a list of all that it does not have.

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
