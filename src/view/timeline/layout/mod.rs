//! Where things stand: which lanes there are, in which row of its lane a mark is, and which lanes are drawn
//! as columns.

mod columns;
mod drafts;
mod lanes;
mod rows;

pub(super) use columns::fold_into_columns;
pub(super) use drafts::{Draft, LEAST_WIDTH, Subject};
pub(super) use lanes::LanePlan;
pub(super) use rows::assign_rows;
