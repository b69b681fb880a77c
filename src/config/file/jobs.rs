//! Reads the jobs of a file that may be invalid: the jobs whose tables are valid, and the names of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::de::DeTable;

use crate::config::file::Overrides;
use crate::config::report::findings::Findings;
use crate::config::sections::job;
use crate::config::sections::section::Section;
use crate::config::warnings;
use crate::job::{JobName, JobSpec};

/// The jobs that a file names.
#[derive(Debug, Clone, Default)]
pub struct FileJobs {
    /// The jobs whose tables are valid, enabled or not.
    pub right: BTreeMap<JobName, Arc<JobSpec>>,
    /// The jobs whose tables, or whose defaults, are invalid.
    pub invalid: BTreeSet<JobName>,
    /// Whether a part of the file that may contain more jobs cannot be read.
    pub is_partial: bool,
}

/// Reads `[defaults]` and `[jobs]`.
pub(crate) fn read(
    text: &str,
    root: &DeTable<'_>,
    overrides: &Overrides<'_>,
    findings: &mut Findings,
) -> FileJobs {
    let before = findings.errors();
    let section = Section::top(root, "defaults", findings);
    let defaults = job::defaults(&section, overrides, findings);
    let has_good_defaults = findings.errors() == before && !section.is_touched("defaults", text, findings);
    let section = Section::top(root, "jobs", findings);
    if section.entries().next().is_none() {
        warnings::of_no_jobs(findings);
    }
    let mut jobs =
        FileJobs { is_partial: findings.has_unread() || section.may_be_misspelt(), ..FileJobs::default() };
    for (key, span, raw) in section.entries() {
        let before = findings.errors();
        let is_touched = findings.touch(text, key, &span);
        let read = job::read(key, span, raw, &defaults, overrides, findings);
        match read.filter(|_| has_good_defaults && !is_touched && findings.errors() == before) {
            Some((name, spec)) => drop(jobs.right.insert(name, spec)),
            None => jobs.invalid.extend(JobName::parse(key).ok()),
        }
    }
    jobs
}
