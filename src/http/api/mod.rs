//! The API: what the reading commands print with `--format json`, over HTTP, and acts on jobs. `openapi.json` describes it; a
//! test compares it with the routes.

mod acts;
mod history;
mod jobs;
mod log;
mod parameters;
mod reply;
mod runs;
mod status;

pub(super) use acts::act;
pub(super) use history::history;
pub(super) use jobs::{job, jobs, known, next_ticks, why};
pub(super) use log::log;
pub(super) use reply::openapi;
pub(super) use runs::run;
pub(super) use status::{replicas, status};

#[cfg(test)]
mod calls_tests;
#[cfg(test)]
mod openapi_tests;
