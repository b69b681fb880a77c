//! A job as commands know it: its name, and what jobs.toml says about it.

use std::sync::Arc;

use crate::job::{JobName, JobSpec};

/// How commands mark a job of the store that the file does not name.
pub(crate) const NOT_IN_FILE: &str = "not in jobs.toml";

/// What jobs.toml says about a job.
#[derive(Debug, Clone)]
pub(crate) enum Definition {
    /// The whole definition.
    Known(Arc<JobSpec>),
    /// Its table is invalid.
    Invalid,
    /// The file does not name it.
    Absent,
    /// There is no file, or its part that may name the job cannot be read.
    Unknown,
}

/// A job, and what the file says about it.
#[derive(Debug, Clone)]
pub(crate) struct KnownJob {
    pub(crate) name: JobName,
    pub(crate) definition: Definition,
}

impl Definition {
    /// Returns the whole definition; `None` if the file has no valid one.
    pub(crate) fn spec(&self) -> Option<&Arc<JobSpec>> {
        match self {
            Self::Known(spec) => Some(spec),
            Self::Invalid | Self::Absent | Self::Unknown => None,
        }
    }

    /// Whether replicas may run the job, as far as the file says.
    pub(crate) fn may_run(&self) -> bool {
        match self {
            Self::Known(spec) => spec.enabled,
            Self::Invalid | Self::Unknown => true,
            Self::Absent => false,
        }
    }

    /// Whether the file names the job; `None` if that is not known.
    pub(crate) fn is_in_file(&self) -> Option<bool> {
        match self {
            Self::Known(_) | Self::Invalid => Some(true),
            Self::Absent => Some(false),
            Self::Unknown => None,
        }
    }
}

impl From<Arc<JobSpec>> for KnownJob {
    fn from(spec: Arc<JobSpec>) -> Self {
        Self { name: spec.name.clone(), definition: Definition::Known(spec) }
    }
}
