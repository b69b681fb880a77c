//! Finds the jobs of a file that a command line names. For an unknown name, the failure suggests the nearest one.

use std::sync::Arc;

use crate::cli::exit::{Exit, Failure};
use crate::config::{Config, Source};
use crate::job::{JobName, JobSpec, nearest};

/// How many names a failure lists: a longer list does not help.
const MAX_LISTED: usize = 20;

/// Returns the job of this name.
pub(crate) fn find_job<'c>(
    config: &'c Config,
    source: &Source,
    name: &JobName,
) -> Result<&'c Arc<JobSpec>, Failure> {
    let names = || config.jobs.keys().collect::<Vec<_>>();
    config.jobs.get(name).ok_or_else(|| unknown(name, &source.path.display().to_string(), &names()))
}

/// Returns the job of this name; for `None`, all jobs.
pub(crate) fn find_jobs(
    config: &Config,
    source: &Source,
    name: Option<&JobName>,
) -> Result<Vec<Arc<JobSpec>>, Failure> {
    match name {
        Some(name) => Ok(vec![Arc::clone(find_job(config, source, name)?)]),
        None => Ok(config.jobs.values().cloned().collect()),
    }
}

/// Returns the failure for a job that `whence` (the file or the store) does not have. `names` are those that it has.
pub(crate) fn unknown(name: &JobName, whence: &str, names: &[&JobName]) -> Failure {
    let mut message = format!("there is no job `{name}` in {whence}");
    if let Some(meant) = nearest(name.as_str(), names.iter().map(|name| name.as_str())) {
        message.push_str(&format!("\n  help: did you mean `{meant}`?"));
    }
    let listed = names.iter().take(MAX_LISTED).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let list =
        if names.is_empty() { "there are no jobs".to_owned() } else { format!("known jobs: {listed}{more}") };
    message.push_str(&format!("\n  note: {list}"));
    Failure::new(Exit::Usage, message)
}
