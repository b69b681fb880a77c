//! Explains what happened to one instant of a job, and why: the instant as people name it, and the sentence
//! about it.

mod tick_facts;
mod when;

pub(crate) use tick_facts::TickFacts;
pub(crate) use when::{Unexplained, When};
