//! Explains what happened to one instant of a job, and why: the instant as people name it, and the sentence
//! about it.

mod explain;
mod when;

pub(crate) use explain::{TickFacts, no_tick};
pub(crate) use when::{Unexplained, When};
