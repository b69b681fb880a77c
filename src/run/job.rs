//! A job, ready to be started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::job::JobSpec;

/// A job with its variables resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The job's table in jobs.toml.
    pub spec: Arc<JobSpec>,
    /// The job's own variables.
    pub env: BTreeMap<String, String>,
    /// Names of the replica's variables that reach the job only through its own `env`.
    pub withheld: Arc<BTreeSet<String>>,
}
