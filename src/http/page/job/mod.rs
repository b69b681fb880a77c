//! The page of a job: what it is, how it stands, what became of its ticks and why, what comes, and acts; and that of a run.

mod acts;
mod definition;
mod forms;
mod outcome;
mod output;
mod run;
mod screen;
#[cfg(test)]
mod tests;

pub(crate) use acts::{JobActs, SHOWN_ACTS};
pub(crate) use forms::{ActForm, FormGrounds};
pub(crate) use output::{OutputSight, RunOutput, SEEN_BYTES, SEEN_LINES};
pub(crate) use run::{RunFacts, run_parts};
pub(crate) use screen::{AskedWhy, JobFacts, job_parts};
