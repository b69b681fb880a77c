//! What a replica takes from a file: its jobs with their variables, which only `run` needs, and its settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cli::session::env;
use crate::config::{Config, EnvError, Problem, Source, read_secret, resolve_env};
use crate::job::{JobName, JobSpec};
use crate::run::Job;

/// Returns every job with its variables, or every problem with variables, each with its place in the file.
pub(crate) fn resolve_jobs(config: &Config, source: &Source) -> Result<BTreeMap<JobName, Job>, Vec<Problem>> {
    let withheld = Arc::new(config.referred.clone());
    let (mut jobs, mut errors) = (BTreeMap::new(), Vec::new());
    for (name, spec) in &config.jobs {
        match resolve_job(spec, &withheld) {
            Ok(job) => {
                jobs.insert(name.clone(), job);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(jobs) } else { Err(EnvError::problems(&errors, source)) }
}

/// Returns a job of the file with its variables. `withheld` are the names of this process's variables that it does not get.
pub(crate) fn resolve_job(spec: &Arc<JobSpec>, withheld: &Arc<BTreeSet<String>>) -> Result<Job, EnvError> {
    let env = resolve_env(spec, &env, &read_secret)?;
    Ok(Job { spec: Arc::clone(spec), env, withheld: Arc::clone(withheld) })
}
