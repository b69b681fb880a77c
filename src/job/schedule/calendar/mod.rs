//! Finds the instants that an expression matches, in a time zone whose offset changes.

pub(super) mod bits;
pub(super) mod day;
pub(super) mod dst;
pub(super) mod pattern;
pub(super) mod zone;
