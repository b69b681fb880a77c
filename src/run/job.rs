//! A job as its runs are started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::job::JobSpec;

/// A job with its variables resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What jobs.toml says.
    pub spec: Arc<JobSpec>,
    /// The job's own variables.
    pub env: BTreeMap<String, String>,
    /// Variables of the replica that it sees only by its own `env`.
    pub withheld: Arc<BTreeSet<String>>,
}
