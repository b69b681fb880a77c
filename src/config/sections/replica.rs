//! `[replica]`: the settings of a replica, unless its flags override them.

use std::time::Duration;

use crate::config::file::Overrides;
use crate::config::report::findings::Findings;
use crate::config::values;
use crate::config::values::policy;
use crate::job::Label;

use super::keys;
use super::keys::Home;
use super::section::Section;

/// How this replica behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSettings {
    /// For how long running jobs may continue after the replica was ordered to stop; zero: they are stopped at once.
    pub drain: Duration,
    /// Its labels, which a job may require by `only_on`.
    pub labels: Vec<Label>,
    /// How many runs may run at once; any number if absent.
    pub max_running: Option<u32>,
}

/// Reads `[replica]`; flags override the file.
pub(crate) fn read(
    section: &Section<'_>,
    overrides: &Overrides<'_>,
    findings: &mut Findings,
) -> ReplicaSettings {
    section.refuse_unknown(&keys::names(&[Home::Replica]), findings);
    let labels = section.read("labels", findings, policy::labels).map(|labels| labels.value);
    let max_running = section.read("max_running", findings, |raw| values::small_number(raw, 1..=u32::MAX));
    let drain = section.read_or_default("drain", findings, values::duration);
    ReplicaSettings {
        drain: overrides.drain.unwrap_or(drain),
        labels: overrides.labels.map(<[Label]>::to_vec).or(labels).unwrap_or_default(),
        max_running: overrides.max_running.or(max_running.map(|limit| limit.value)),
    }
}
