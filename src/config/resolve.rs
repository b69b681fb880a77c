//! The environment of a job with its references replaced, for the replica that is about to run it. What
//! cannot be found is named all at once, and no value is ever part of a message.

use std::collections::BTreeMap;

use super::substitute::{Lookup, ReadFile, Template};
use crate::job::{JobName, JobSpec};

/// Why the environment of a job could not be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("job `{job}`: {}", .causes.join("; "))]
pub struct EnvError {
    /// The job.
    pub job: JobName,
    /// One for each reference that stands for nothing, with its way out.
    pub causes: Vec<String>,
}

/// The variables that jobs.toml adds to a job's environment, with `${NAME}` and `${file:/path}` replaced.
pub fn resolve_env(
    spec: &JobSpec,
    env: &dyn Fn(&str) -> Option<String>,
    read_file: ReadFile<'_>,
) -> Result<BTreeMap<String, String>, EnvError> {
    let (mut resolved, mut causes) = (BTreeMap::new(), Vec::new());
    for (name, text) in &spec.env {
        let filled = Template::parse(text)
            .map_err(|error| vec![error])
            .and_then(|template| template.fill(Lookup { env, read_file }));
        match filled {
            Ok(value) if value.contains('\0') => {
                causes.push(format!(
                    "variable `{name}` in `env` has a NUL character: take it out of what it refers to"
                ));
            }
            Ok(value) => {
                resolved.insert(name.clone(), value);
            }
            Err(errors) => {
                causes.extend(errors.iter().map(|error| format!("variable `{name}` in `env` {error}")))
            }
        }
    }
    if causes.is_empty() { Ok(resolved) } else { Err(EnvError { job: spec.name.clone(), causes }) }
}
