//! A store whose requests are measured, and what was measured.

mod store;
mod store_tally;
#[cfg(test)]
mod tests;

pub(crate) use store::MeasuredStore;
pub(crate) use store_tally::StoreTally;
