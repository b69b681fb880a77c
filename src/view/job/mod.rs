//! A job as operators see it: what jobs.toml says about it, and what the store knows of it.

pub(crate) mod coming;
pub(crate) mod condition;
pub(crate) mod definition;
pub(crate) mod list;
pub(crate) mod state;

pub(crate) use coming::ComingTick;
pub(crate) use condition::{JobCondition, JobConditions, NEW, WELL};
pub(crate) use definition::{Definition, KnownJob, NOT_IN_FILE};
pub(crate) use list::{JOBS_PER_PAGE, JobList, JobQuery};
pub(crate) use state::{JobState, Readable};
