//! A guest: one command that wants one lock, once, and is no replica (`exec`). It asks as a run by hand does, beats no
//! heart, and keeps its lock as a replica does: the same guard, renewals and deadlines. It leaves no file behind.

mod acquire;
#[cfg(test)]
mod acquire_tests;
mod command;
mod session;
mod shutdown;
mod store_watch;
mod work;

pub(crate) use command::{Guest, Visit};
pub(crate) use work::Work;
