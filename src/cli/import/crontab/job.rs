//! A job that an entry of the crontab has become.

use super::environment::Environment;

/// A job, before it is written down.
#[derive(Debug, Clone)]
pub(super) struct CrontabJob {
    /// The comments above it.
    pub(super) above: Vec<String>,
    /// A good name, and no other job's.
    pub(super) name: String,
    /// A good expression.
    pub(super) schedule: String,
    /// Who runs it, in the system's form.
    pub(super) user: Option<String>,
    /// What the lines above it have set.
    pub(super) environment: Environment,
    /// What the shell gets; never empty.
    pub(super) command: String,
    /// What is written in another way than in the crontab.
    pub(super) notes: Vec<&'static str>,
}
