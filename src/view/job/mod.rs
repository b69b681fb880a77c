//! A job as operators see it: what jobs.toml says about it, and what the store knows of it.

pub(crate) mod definition;
pub(crate) mod state;

pub(crate) use definition::{Definition, KnownJob, NOT_IN_FILE};
pub(crate) use state::{JobState, Readable};
