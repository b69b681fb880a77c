//! A guest: one command that wants one lock, once, and is no replica (`exec`). It asks as a run by hand does, beats no
//! heart, and keeps its lock as a replica does: the same guard, renewals and deadlines. It leaves no file behind.

mod asking;
#[cfg(test)]
mod asking_tests;
mod ear;
mod stay;
mod steering;
mod visit;
mod work;

pub use visit::{Guest, Visit};
pub use work::Work;
