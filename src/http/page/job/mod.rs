//! The page of a job: what it is, how it stands, what became of its ticks and why, and what comes; and that of a run.

mod definition;
mod outcome;
mod run;
mod screen;
#[cfg(test)]
mod tests;

pub(crate) use run::{RunFacts, RunOutput, run_parts};
pub(crate) use screen::{AskedWhy, JobFacts, job_parts};
