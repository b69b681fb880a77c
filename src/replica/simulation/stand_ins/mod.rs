//! Stand-ins for the parts of a replica that wait: its driver, its errands, its locks, its operator.

mod due;
pub(super) mod errand;
mod guest;
pub(super) mod hints;
pub(super) mod keep;
mod moves;
pub(super) mod node;
mod operator;
mod past;
