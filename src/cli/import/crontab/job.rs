//! A job made from an entry of the crontab.

use super::environment::Environment;

/// A job, before it is written down.
#[derive(Debug, Clone)]
pub(super) struct CrontabJob {
    /// The comments above it.
    pub(super) above: Vec<String>,
    /// A valid name that no other job has.
    pub(super) name: String,
    /// A valid expression.
    pub(super) schedule: String,
    /// The user that runs it, in the system's form.
    pub(super) user: Option<String>,
    /// What the lines above it have set.
    pub(super) environment: Environment,
    /// What the shell gets; never empty.
    pub(super) command: String,
    /// What is written differently than in the crontab.
    pub(super) notes: Vec<&'static str>,
}
