//! Every metric that a replica exports, one row each: name, type, labels with their values, and what it
//! means. The order is that of exposition.

mod family;
mod label_values;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use family::{LabelSets, MetricFamily, MetricKind};
pub(crate) use label_values::JOB_RESULTS;
pub(crate) use rows::*;
