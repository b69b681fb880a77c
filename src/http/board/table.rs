//! The jobs that the board keeps: how much of each is known, whether that may have changed, and what to read next. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, RunId};
use crate::store::{GLANCED_ENTRIES, JobGlance, JobStanding};
use crate::time::{BootInstant, UtcMillis};
use crate::view::job::{Definition, JobState, KnownJob};
use crate::view::problems::needs_depth;

use super::changes::ListedRuns;
use super::standings::JobsByName;

/// What somebody looked at is kept for this long after.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(60);

/// The most jobs of which all glanced entries are kept: some 10 kB each.
const MOST_DEEP: usize = 500;

/// A job whose tick is due is not looked at more often than this.
const DUE_EVERY: Duration = Duration::from_secs(5);

/// A job with a run that no heartbeat lists is not looked at more often than this.
const RUNNING_EVERY: Duration = Duration::from_secs(1);

/// The most jobs of one read, by what is read of each: all glanced entries, the newest entry, its standing. Each takes the
/// store about a millisecond.
const READ_TOGETHER: [usize; 3] = [10, 64, 256];

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BoardRead {
    /// The records of these jobs, and as many of their newest entries.
    Glance(Vec<JobName>, usize),
    /// How these jobs stand.
    Standings(Vec<JobName>),
}

/// When something was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadAt {
    /// By the store's clock.
    pub(super) store: UtcMillis,
    /// By this machine's.
    pub(super) boot: BootInstant,
}

/// How well a job is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    /// Nothing says that it changed.
    Current,
    /// It may have changed: how it stands tells.
    Doubtful,
    /// It changed.
    Stale,
}

/// A job.
#[derive(Debug)]
struct TableJob {
    /// Boxed: a map has room for nearly twice as many jobs as are in it.
    state: Box<JobState>,
    /// How many of its newest entries were asked for; 0 if only its standing was read.
    depth: usize,
    freshness: Freshness,
    /// When it was last read; `None` before.
    read: Option<ReadAt>,
    /// When somebody last looked at its newest entry, and at all glanced entries.
    viewed: [Option<BootInstant>; 2],
}

/// All jobs.
#[derive(Debug)]
pub(super) struct JobTable {
    /// The jobs of the file that it is of.
    file: Arc<JobsByName>,
    jobs: BTreeMap<JobName, TableJob>,
    /// Raised whenever something in the table changes.
    version: u64,
    /// Which kind of read comes next, so that none waits for ever.
    next_kind: usize,
}

impl TableJob {
    /// Returns how many of its entries somebody wants to see.
    fn wanted(&self, now: BootInstant) -> usize {
        let is_viewed = |at: Option<BootInstant>| at.is_some_and(|at| now.since(at) <= KEPT_FOR);
        match self.viewed {
            [_, deep] if is_viewed(deep) => GLANCED_ENTRIES,
            [last, _] if is_viewed(last) => 1,
            // Only a glance tells why it has no record.
            _ if self.state.lacks_record() => 1,
            _ => 0,
        }
    }

    /// Whether the store may have entries that are older than those which were read.
    fn may_have_older(&self) -> bool {
        self.state.entries.len() >= self.depth || self.state.unread.is_some()
    }

    /// Whether it was not read within this time.
    fn was_read_before(&self, now: BootInstant, within: Duration) -> bool {
        self.read.is_none_or(|read| now.since(read.boot) >= within)
    }

    /// Returns which kind of read it needs, as a place in [`READ_TOGETHER`].
    fn needs(&self, now: BootInstant) -> Option<usize> {
        let wanted = self.wanted(now);
        match self.freshness {
            Freshness::Current if wanted <= self.depth => None,
            Freshness::Doubtful if wanted <= self.depth => Some(2),
            _ if wanted > 1 => Some(0),
            _ if wanted == 1 => Some(1),
            _ => Some(2),
        }
    }
}

impl JobTable {
    /// Returns a table of the jobs of this file, of which nothing is known.
    pub(super) fn of(file: &Arc<JobsByName>) -> Self {
        Self { file: Arc::clone(file), jobs: BTreeMap::new(), version: 0, next_kind: 0 }
    }

    /// Takes over the definitions of another file. Jobs that are new in it are read before long.
    pub(super) fn reload(&mut self, file: &Arc<JobsByName>) {
        if Arc::ptr_eq(&self.file, file) {
            return;
        }
        self.file = Arc::clone(file);
        self.version += 1;
        for (name, job) in &mut self.jobs {
            job.state.definition = definition(file, name);
            job.freshness = job.freshness.max_of(Freshness::Doubtful);
        }
        for name in file.keys().filter(|name| !self.jobs.contains_key(*name)).cloned().collect::<Vec<_>>() {
            let job = unknown(file, &name);
            self.jobs.insert(name, job);
        }
    }

    /// Takes in how all jobs stand, each with its name: jobs that are not among them are forgotten.
    pub(super) fn take_in_all(&mut self, standings: Vec<(JobName, Option<JobStanding>)>, read: ReadAt) {
        let mut former = std::mem::take(&mut self.jobs);
        for (name, standing) in standings {
            let job = former.remove(&name).unwrap_or_else(|| unknown(&self.file, &name));
            self.jobs.insert(name.clone(), job);
            self.take_in_standing(&name, standing, read);
        }
        self.version += 1;
    }

    /// Takes in how a job stands.
    pub(super) fn take_in_standing(&mut self, name: &JobName, standing: Option<JobStanding>, read: ReadAt) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        let is_same = job.state.record.as_ref().map(JobStanding::of) == standing;
        if job.depth > 0 && job.wanted(read.boot) > 0 {
            // What is shown of it stays until it is read as a whole.
            job.freshness = if is_same { Freshness::Current } else { Freshness::Stale };
        } else {
            job.state.record = standing.as_ref().map(JobStanding::to_record);
            (job.state.entries, job.state.unread) = (Vec::new(), None);
            (job.depth, job.freshness) = (0, Freshness::Current);
        }
        job.read = Some(read);
        self.version += u64::from(!is_same);
    }

    /// Takes in a glance at a job.
    pub(super) fn take_in_glance(&mut self, name: &JobName, glance: JobGlance, depth: usize, read: ReadAt) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        let JobGlance { record, entries, unread } = glance;
        (job.state.record, job.state.entries, job.state.unread) = (record, entries, unread);
        (job.depth, job.freshness, job.read) = (depth, Freshness::Current, Some(read));
        self.version += 1;
    }

    /// Notes that a job changed. A job that it does not have is found when all jobs are read the next time: others than
    /// replicas may be able to send hints.
    pub(super) fn note_change(&mut self, name: &JobName) {
        if let Some(job) = self.jobs.get_mut(name) {
            job.freshness = Freshness::Stale;
        }
    }

    /// Notes that any job may have changed.
    pub(super) fn doubt_all(&mut self) {
        for job in self.jobs.values_mut() {
            job.freshness = job.freshness.max_of(Freshness::Doubtful);
        }
    }

    /// Notes that these jobs, whose ticks are due, may have changed, unless they were read a moment ago.
    pub(super) fn doubt_due<'a>(&mut self, names: impl Iterator<Item = &'a JobName>, now: BootInstant) {
        for name in names {
            if let Some(job) = self.jobs.get_mut(name).filter(|job| job.was_read_before(now, DUE_EVERY)) {
                job.freshness = job.freshness.max_of(Freshness::Doubtful);
            }
        }
    }

    /// Notes that what somebody looks at may have changed, unless it was read within this time: no hint tells of it.
    pub(super) fn doubt_viewed(&mut self, unless_within: Duration, now: BootInstant) {
        for job in self.jobs.values_mut() {
            let is_old = job.was_read_before(now, unless_within);
            if is_old && job.viewed[1].is_some_and(|at| now.since(at) <= KEPT_FOR) {
                job.freshness = job.freshness.max_of(Freshness::Doubtful);
            }
        }
    }

    /// Notes that jobs may have changed whose run no heartbeat lists: it is shorter than the time between two, or an `exec` has
    /// it.
    pub(super) fn doubt_running(&mut self, listed: &ListedRuns, now: BootInstant) {
        for (name, job) in &mut self.jobs {
            let run =
                job.state.record.as_ref().filter(|record| record.is_running()).and_then(|record| record.run);
            if run.is_some_and(|run| !listed.has(name, run)) && job.was_read_before(now, RUNNING_EVERY) {
                job.freshness = job.freshness.max_of(Freshness::Doubtful);
            }
        }
    }

    /// Notes that somebody looks at these jobs. `is_deep`: at all glanced entries of each; else at the newest one. All
    /// glanced entries are also read of a failing job whose newest entry does not tell how it failed.
    pub(super) fn note_view<'a>(
        &mut self,
        names: impl Iterator<Item = &'a JobName> + Clone,
        is_deep: bool,
        now: BootInstant,
    ) {
        let is_deep_now = |job: &&TableJob| job.wanted(now) > 1;
        let becomes_deep = |job: &TableJob| (is_deep || needs_depth(&job.state)) && !is_deep_now(&job);
        // Most viewers look at what others look at, too, and nothing has to be counted.
        let is_counted = names.clone().filter_map(|name| self.jobs.get(name)).any(becomes_deep);
        let mut deep = if is_counted { self.jobs.values().filter(is_deep_now).count() } else { 0 };
        for name in names {
            let Some(job) = self.jobs.get_mut(name) else { continue };
            let was_deep = job.wanted(now) > 1;
            job.viewed[0] = Some(now);
            if (is_deep || needs_depth(&job.state)) && (was_deep || deep < MOST_DEEP) {
                deep += usize::from(!was_deep);
                job.viewed[1] = Some(now);
            }
        }
    }

    /// Returns what to read next; `None` if everything is known.
    pub(super) fn next_read(&mut self, now: BootInstant) -> Option<BoardRead> {
        let mut needed: [Vec<JobName>; 3] = Default::default();
        for (name, job) in &self.jobs {
            if let Some(kind) = job.needs(now)
                && let (Some(names), Some(most)) = (needed.get_mut(kind), READ_TOGETHER.get(kind))
                && names.len() < *most
            {
                names.push(name.clone());
            }
        }
        let kinds = (0..READ_TOGETHER.len()).map(|further| (self.next_kind + further) % READ_TOGETHER.len());
        let kind = kinds.into_iter().find(|kind| needed.get(*kind).is_some_and(|names| !names.is_empty()))?;
        self.next_kind = (kind + 1) % READ_TOGETHER.len();
        let names = needed.into_iter().nth(kind)?;
        Some(match kind {
            0 => BoardRead::Glance(names, GLANCED_ENTRIES),
            1 => BoardRead::Glance(names, 1),
            _ => BoardRead::Standings(names),
        })
    }

    /// Drops the entries of jobs that nobody has looked at for a while.
    pub(super) fn forget(&mut self, now: BootInstant) {
        for job in self.jobs.values_mut().filter(|job| !job.state.entries.is_empty()) {
            if job.wanted(now) == 0 {
                (job.state.entries, job.depth) = (Vec::new(), 0);
            }
        }
    }

    /// Returns the number that is raised whenever something changes.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the names of all jobs, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &JobName> {
        self.jobs.keys()
    }

    /// Whether it has a job of this name.
    pub(super) fn has(&self, name: &JobName) -> bool {
        self.jobs.contains_key(name)
    }

    /// Returns the states of these jobs; a name that it does not have is left out.
    pub(super) fn states<'a>(&self, names: impl Iterator<Item = &'a JobName>) -> Vec<JobState> {
        let seen = |job: &TableJob| JobState { has_older: job.may_have_older(), ..(*job.state).clone() };
        names.filter_map(|name| self.jobs.get(name)).map(seen).collect()
    }

    /// Returns the states of all jobs, in order.
    pub(super) fn all_states(&self) -> Vec<JobState> {
        self.jobs.values().map(|job| (*job.state).clone()).collect()
    }

    /// Calls a function with the states of all jobs, in order, and takes them back: copies of thousands of records would
    /// take tens of megabytes.
    pub(super) fn lend_all<T>(&mut self, look: impl FnOnce(Vec<JobState>) -> (Vec<JobState>, T)) -> T {
        let lent = self.jobs.values_mut().map(|job| {
            let known = KnownJob { name: job.state.name.clone(), definition: Definition::Absent };
            std::mem::replace(&mut *job.state, JobState::of(known, Ok(None), Ok(Vec::new())))
        });
        let (states, seen) = look(lent.collect());
        for (job, state) in self.jobs.values_mut().zip(states) {
            *job.state = state;
        }
        seen
    }

    /// Whether everything that was asked for of these jobs was read, and nothing says that it changed.
    pub(super) fn is_current<'a>(
        &self,
        mut names: impl Iterator<Item = &'a JobName>,
        now: BootInstant,
    ) -> bool {
        names.all(|name| self.jobs.get(name).is_none_or(|job| job.needs(now).is_none()))
    }

    /// Returns the instant up to which everything that is known of these jobs is current: `latest`, or the oldest read of a
    /// job that may have changed since.
    pub(super) fn as_of<'a>(&self, names: impl Iterator<Item = &'a JobName>, latest: UtcMillis) -> UtcMillis {
        oldest(names.filter_map(|name| self.jobs.get(name)), latest)
    }

    /// Returns the instant up to which everything that is known of all jobs is current, as [`JobTable::as_of`] does.
    pub(super) fn all_as_of(&self, latest: UtcMillis) -> UtcMillis {
        oldest(self.jobs.values(), latest)
    }

    /// Returns the job that has this run, or had it lately.
    pub(super) fn job_of_run(&self, run: RunId) -> Option<&JobName> {
        let has_it = |job: &TableJob| {
            let is_newest = job.state.record.as_ref().is_some_and(|record| record.run == Some(run));
            is_newest || job.state.entries.iter().any(|entry| entry.run == Some(run))
        };
        self.jobs.iter().find(|(_, job)| has_it(job)).map(|(name, _)| name)
    }
}

impl Freshness {
    /// Returns the worse of two.
    fn max_of(self, other: Self) -> Self {
        match (self, other) {
            (Self::Stale, _) | (_, Self::Stale) => Self::Stale,
            (Self::Doubtful, _) | (_, Self::Doubtful) => Self::Doubtful,
            (Self::Current, Self::Current) => Self::Current,
        }
    }
}

/// Returns the oldest read of those of these jobs that may have changed since; `latest` if none has.
fn oldest<'a>(jobs: impl Iterator<Item = &'a TableJob>, latest: UtcMillis) -> UtcMillis {
    // Of a job that was never read, nothing is known that could be old.
    let changed = jobs.filter(|job| job.freshness != Freshness::Current).filter_map(|job| job.read);
    changed.map(|read| read.store).fold(latest, UtcMillis::min)
}

/// Returns what a file says about a job.
fn definition(file: &JobsByName, name: &JobName) -> Definition {
    file.get(name).map_or(Definition::Absent, |spec| Definition::Known(Arc::clone(spec)))
}

/// Returns a job of which nothing was read yet.
fn unknown(file: &JobsByName, name: &JobName) -> TableJob {
    let job = KnownJob { name: name.clone(), definition: definition(file, name) };
    TableJob {
        state: Box::new(JobState::of(job, Ok(None), Ok(Vec::new()))),
        depth: 0,
        freshness: Freshness::Stale,
        read: None,
        viewed: [None; 2],
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
