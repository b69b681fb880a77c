//! The first page: what is wrong, what ran and what comes, and the jobs.

mod address;
mod list;
mod row;
mod trouble;
#[cfg(test)]
mod tests;

pub(crate) use address::HomeAddress;
pub(crate) use list::{HomeFacts, home_parts};
pub(crate) use row::{PageState, PauseLine, SparkDrawing, ended};
