//! The difference between two jobs.toml, as far as it concerns a running replica. Pure.

use std::collections::BTreeMap;

use crate::job::JobName;
use crate::run::Job;

/// How a reload of jobs.toml affects a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was not scheduled, or by another schedule: it starts now.
    Starts,
    /// Its ticks stay the same, and its runs change.
    Revised,
    /// It is not scheduled any more.
    Ends,
}

/// At most this many jobs are listed; a longer list is no help.
const MAX_LISTED: usize = 20;

/// What a reload of jobs.toml changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Jobs that were not in the file before.
    pub added: Vec<JobName>,
    /// Jobs whose definition changed.
    pub changed: Vec<JobName>,
    /// Jobs that are no longer in the file.
    pub removed: Vec<JobName>,
}

impl Changes {
    /// Returns what is different in the new jobs.
    pub(crate) fn between(old: &BTreeMap<JobName, Job>, new: &BTreeMap<JobName, Job>) -> Self {
        let added = new.keys().filter(|name| !old.contains_key(*name));
        let changed = new.iter().filter(|(name, job)| old.get(*name).is_some_and(|old| old != *job));
        let removed = old.keys().filter(|name| !new.contains_key(*name));
        Self {
            added: added.cloned().collect(),
            changed: changed.map(|(name, _)| name.clone()).collect(),
            removed: removed.cloned().collect(),
        }
    }

    /// Returns the names of added, changed and removed jobs; `None` where there are none.
    pub fn listed(&self) -> [Option<String>; 3] {
        let listed = |names: &[JobName]| {
            let first: Vec<&str> = names.iter().take(MAX_LISTED).map(JobName::as_str).collect();
            let more = match names.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (!names.is_empty()).then(|| first.join(", ") + &more)
        };
        [listed(&self.added), listed(&self.changed), listed(&self.removed)]
    }

    /// Returns every job that is different.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &JobName> {
        self.added.iter().chain(&self.changed).chain(&self.removed)
    }
}

impl Change {
    /// Returns how a job is affected whose definition was `old` and is `new` (`None`: not in the file); `None` if it is not
    /// affected.
    pub(crate) fn of(old: Option<&Job>, new: Option<&Job>) -> Option<Self> {
        let scheduled = |job: &&Job| job.spec.enabled;
        match (old.filter(scheduled), new.filter(scheduled)) {
            (None, None) => None,
            (None, Some(_)) => Some(Self::Starts),
            (Some(_), None) => Some(Self::Ends),
            (Some(old), Some(new)) if old.spec.schedule != new.spec.schedule => Some(Self::Starts),
            (Some(old), Some(new)) => (old != new).then_some(Self::Revised),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::config::testing::config;

    use super::*;

    fn jobs(text: &str) -> BTreeMap<JobName, Job> {
        let config = config(format!("[cluster]\nstore = \"local\"\n{text}"));
        let job = |(name, spec)| (name, Job { spec, env: BTreeMap::new(), withheld: Arc::default() });
        config.jobs.into_iter().map(job).collect()
    }

    fn change(old: &str, new: &str) -> Option<Change> {
        let keys = |keys: &str| format!("[jobs.x]\ncommand = [\"true\"]\n{keys}\n");
        let (old, new) = (jobs(&keys(old)), jobs(&keys(new)));
        Change::of(old.values().next(), new.values().next())
    }

    #[test]
    fn what_becomes_of_a_job_depends_on_what_was_edited() {
        let daily = "schedule = \"@daily\"";
        let with = |more: &str| format!("{daily}\n{more}");
        for (old, new, becomes) in [
            (daily.to_owned(), daily.to_owned(), None),
            (daily.to_owned(), "schedule = \" @daily \"".to_owned(), None),
            (daily.to_owned(), "schedule = \"@hourly\"".to_owned(), Some(Change::Starts)),
            (daily.to_owned(), with("timezone = \"Europe/Berlin\""), Some(Change::Starts)),
            (with("enabled = false"), daily.to_owned(), Some(Change::Starts)),
            (daily.to_owned(), with("enabled = false"), Some(Change::Ends)),
            (with("enabled = false"), with("enabled = false\nlease = \"9s\""), None),
            (daily.to_owned(), with("lease = \"9s\""), Some(Change::Revised)),
            (daily.to_owned(), with("env = { A = \"b\" }"), Some(Change::Revised)),
            (daily.to_owned(), with("description = \"for people\""), Some(Change::Revised)),
        ] {
            assert_eq!(change(&old, &new), becomes, "{old} -> {new}");
        }
        let job = jobs("[jobs.x]\nschedule = \"@daily\"\nshell = \"x\"\n");
        assert_eq!(Change::of(None, job.values().next()), Some(Change::Starts));
        assert_eq!(Change::of(job.values().next(), None), Some(Change::Ends));
    }

    #[test]
    fn a_secret_that_was_replaced_changes_its_job() {
        let old = jobs("[jobs.x]\nschedule = \"@daily\"\nshell = \"x\"\n");
        let mut new = old.clone();
        let secret = BTreeMap::from([("TOKEN".to_owned(), "new".to_owned())]);
        new.values_mut().for_each(|job| job.env = secret.clone());
        assert_eq!(Changes::between(&old, &new).changed.len(), 1);
        assert!(Arc::ptr_eq(&old.values().next().expect("x").spec, &new.values().next().expect("x").spec));
    }

    #[test]
    fn added_changed_and_removed_jobs_are_listed_and_no_others() {
        let job =
            |name: &str, shell: &str| format!("[jobs.{name}]\nschedule = \"@daily\"\nshell = \"{shell}\"\n");
        let old = jobs(&[job("a", "1"), job("b", "1"), job("c", "1")].concat());
        let new = jobs(&[job("b", "1"), job("c", "2"), job("d", "1")].concat());
        let changes = Changes::between(&old, &new);
        let names = |names: &[JobName]| names.iter().map(JobName::to_string).collect::<Vec<_>>();
        assert_eq!(names(&changes.added), ["d"]);
        assert_eq!(names(&changes.changed), ["c"]);
        assert_eq!(names(&changes.removed), ["a"]);
        assert_eq!(changes.jobs().count(), 3);
    }
}
