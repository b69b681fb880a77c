//! The first page: what is wrong, what ran and what comes, and the jobs.

mod address;
mod list;
mod row;
#[cfg(test)]
mod tests;
mod trouble;

pub(crate) use address::HomeAddress;
pub(crate) use list::{HomeFacts, home_parts};
pub(crate) use row::{PageState, PauseLine, SparkDrawing, ended};
pub(crate) use trouble::TROUBLES_SHOWN;
