//! Which requests there are: one row for each, from which the router is made.

pub(super) mod large;
mod lasting;
pub(super) mod problem;
pub(super) mod serve;
pub(super) mod table;
