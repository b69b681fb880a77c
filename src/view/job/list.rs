//! The list of all jobs that page and API show: what is wrong comes first; narrowed down by a text and by conditions, in
//! pages. Pure.

use std::collections::BTreeSet;

use crate::job::{JobName, Tick};
use crate::view::expected::Expected;
use crate::view::problems::{ClusterProblem, Kind, problems};
use crate::view::snapshot::Snapshot;

use super::condition::{JobCondition, JobConditions};
use super::state::JobState;

/// How many jobs one page shows.
pub(crate) const JOBS_PER_PAGE: usize = 50;

/// What is known of a job when a list is sorted and narrowed down.
#[derive(Debug, Clone)]
pub(crate) struct JobSummary {
    pub(crate) name: JobName,
    /// The description in jobs.toml, in lower case; empty if there is none.
    description: String,
    pub(crate) conditions: JobConditions,
    /// Whether it has a problem, or its newest ticks did not succeed.
    pub(crate) is_troubled: bool,
    /// Its next tick, if it is enabled.
    pub(crate) next: Option<Tick>,
    /// Its oldest tick that is not decided, if it has come: some replica decides it before long.
    pub(crate) due: Option<Tick>,
    /// Whether it belongs to the current state of the cluster.
    is_of_now: bool,
}

/// All jobs: those with problems first, then those that are running, then by next tick, then by name.
#[derive(Debug)]
pub(crate) struct JobList {
    jobs: Vec<JobSummary>,
    /// Everything that is wrong, as far as the snapshot shows.
    pub(crate) problems: Vec<ClusterProblem>,
}

/// Which jobs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobQuery {
    /// Only jobs with this text in their name or description, in upper or lower case; all if empty.
    pub(crate) text: String,
    /// Only jobs that are in one of these conditions; any if empty.
    pub(crate) conditions: Vec<JobCondition>,
    /// The page, from 1; 0 is the first one, too.
    pub(crate) page: usize,
}

/// One page of the wanted jobs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobListPage {
    /// The jobs, in the order of the list.
    pub(crate) jobs: Vec<JobName>,
    /// How many are wanted, on all pages.
    pub(crate) wanted: usize,
    /// This page, from 1: the last one if the query asks for a later one.
    pub(crate) page: usize,
    /// How many pages there are, at least 1.
    pub(crate) pages: usize,
}

impl JobList {
    /// Returns the list of the jobs of this snapshot.
    pub(crate) fn of(snapshot: &Snapshot, expected: Expected<'_>) -> Self {
        Self::with(snapshot, problems(snapshot, expected))
    }

    /// Returns the list of jobs of which nothing was read: nothing is wrong with any of them, as far as is known.
    pub(crate) fn unread(snapshot: &Snapshot) -> Self {
        Self::with(snapshot, Vec::new())
    }

    fn with(snapshot: &Snapshot, problems: Vec<ClusterProblem>) -> Self {
        let named = |is_it: &dyn Fn(&ClusterProblem) -> bool| -> BTreeSet<&JobName> {
            problems
                .iter()
                .filter(|problem| is_it(problem))
                .filter_map(|problem| problem.job.as_ref())
                .collect()
        };
        let (troubled, late) = (named(&|_| true), named(&|problem| problem.kind == Kind::Overdue));
        let summary = |job| summary(job, snapshot, &troubled, &late);
        let mut jobs: Vec<JobSummary> = snapshot.jobs.iter().map(summary).collect();
        jobs.sort_by(|one, other| one.rank().cmp(&other.rank()));
        Self { jobs, problems }
    }

    /// Returns all jobs, in their order.
    pub(crate) fn jobs(&self) -> &[JobSummary] {
        &self.jobs
    }

    /// Returns how many jobs are in this condition; without one, how many belong to the current state of the cluster.
    pub(crate) fn count(&self, condition: Option<JobCondition>) -> usize {
        let is_in = |job: &&JobSummary| match condition {
            Some(condition) => job.conditions.has(condition),
            None => job.is_of_now,
        };
        self.jobs.iter().filter(is_in).count()
    }

    /// Returns the page that a query asks for.
    pub(crate) fn page(&self, query: &JobQuery) -> JobListPage {
        let text = query.text.to_lowercase();
        let is_wanted = |job: &&JobSummary| job.is_wanted(&text, &query.conditions);
        let wanted = self.jobs.iter().filter(is_wanted).count();
        let pages = wanted.div_ceil(JOBS_PER_PAGE).max(1);
        let page = query.page.clamp(1, pages);
        let on_page = self.jobs.iter().filter(is_wanted).skip((page - 1) * JOBS_PER_PAGE).take(JOBS_PER_PAGE);
        JobListPage { jobs: on_page.map(|job| job.name.clone()).collect(), wanted, page, pages }
    }
}

impl JobSummary {
    /// Returns the key by which lists are sorted. Jobs without a next tick come after the others.
    fn rank(&self) -> (bool, bool, bool, Option<Tick>, &JobName) {
        let is_running = self.conditions.has(JobCondition::Running);
        (!self.is_troubled, !is_running, self.next.is_none(), self.next, &self.name)
    }

    /// Whether a query asks for it. `text` is in lower case. Jobs that the file does not name, and that were not active
    /// lately, are wanted only by those who ask for such jobs.
    fn is_wanted(&self, text: &str, conditions: &[JobCondition]) -> bool {
        let has_text = || {
            text.is_empty()
                || self.name.as_str().to_lowercase().contains(text)
                || self.description.contains(text)
        };
        let is_in_one = || conditions.iter().any(|condition| self.conditions.has(*condition));
        (self.is_of_now || conditions.contains(&JobCondition::Absent))
            && (conditions.is_empty() || is_in_one())
            && has_text()
    }
}

fn summary(
    job: &JobState,
    snapshot: &Snapshot,
    troubled: &BTreeSet<&JobName>,
    late: &BTreeSet<&JobName>,
) -> JobSummary {
    let now = snapshot.now;
    let conditions = JobConditions::of(job, snapshot, late.contains(&job.name));
    let description = job.spec().and_then(|spec| spec.description.as_ref());
    let enabled = job.spec().filter(|spec| spec.enabled);
    JobSummary {
        name: job.name.clone(),
        description: description.map(|text| text.to_lowercase()).unwrap_or_default(),
        conditions,
        is_troubled: troubled.contains(&job.name) || conditions.has(JobCondition::Failing),
        next: enabled.and_then(|spec| spec.schedule.next_after(now)),
        due: job.undecided(now).map(|(_, tick)| tick).filter(|tick| tick.instant() <= now),
        is_of_now: job.is_of_now(now),
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
