//! What an operator does to a job: run it by hand, pause and resume it, stop its run, release its lock. An
//! act returns a value or an error, each with words for people; commands print them, and choose exit codes.

pub(crate) mod acts;
pub mod audit;
mod error;
mod last_sign;
pub(crate) mod operator;
pub(crate) mod outage;
#[cfg(test)]
mod testing;
pub(crate) mod wait;

pub use error::OperateError;
pub use last_sign::LastSign;
