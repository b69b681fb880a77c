//! Whether a replica has a free slot for another run, and which jobs wait for one, in order of arrival. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::job::JobName;
use crate::lease::Protection;

/// The slots for runs on one replica.
#[derive(Debug, Default)]
pub(crate) struct Capacity {
    /// How many jobs may run at once; `None`: any number.
    limit: Option<u32>,
    /// Jobs that run here, or that may be granted to this replica at any moment.
    taken: BTreeSet<JobName>,
    /// Jobs with a tick that waits for a slot, in order of arrival.
    waiting: BTreeMap<u64, JobName>,
    places: HashMap<JobName, u64>,
    next: u64,
}

impl Capacity {
    /// Creates slots for so many runs at once; `None`: any number.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Sets another limit. The jobs in `taken` have their slots already.
    pub(crate) fn resize(&mut self, limit: Option<u32>, taken: BTreeSet<JobName>) {
        self.limit = limit;
        self.taken = if limit.is_some() { taken } else { BTreeSet::new() };
    }

    /// Returns how many jobs may run at once; `None`: any number.
    pub(crate) fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// Returns how many jobs have a tick that waits for a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.limit.is_none()
    }

    /// Whether no further job may start.
    pub(crate) fn is_full(&self) -> bool {
        let is_full = |limit| self.taken.len() >= limit as usize;
        self.limit.is_some_and(is_full) && Protection::MaxRunning.is_on()
    }

    /// Whether the job may start. A job that runs here never runs twice at once: its next run takes the slot of the
    /// current one.
    pub(crate) fn has_slot_for(&self, job: &JobName) -> bool {
        !self.is_full() || self.taken.contains(job)
    }

    /// Records that the job runs here, or may be granted to this replica at any moment.
    pub(crate) fn take(&mut self, job: &JobName) {
        if self.limit.is_some() {
            self.taken.insert(job.clone());
            self.leave(job);
        }
    }

    /// Frees the slots of all jobs but those that `is_needed` accepts: jobs that run here, or may be granted to this
    /// replica.
    pub(crate) fn free_all_but(&mut self, is_needed: impl Fn(&JobName) -> bool) {
        self.taken.retain(is_needed);
    }

    /// Records that a tick of the job waits for a slot.
    pub(crate) fn wait(&mut self, job: &JobName) {
        if !self.places.contains_key(job) {
            self.places.insert(job.clone(), self.next);
            self.waiting.insert(self.next, job.clone());
            self.next += 1;
        }
    }

    /// Returns the job that has waited longest if a slot is free; it waits no longer.
    pub(crate) fn call_next(&mut self) -> Option<JobName> {
        if self.is_full() {
            return None;
        }
        let (_, job) = self.waiting.pop_first()?;
        self.places.remove(&job);
        Some(job)
    }

    fn leave(&mut self, job: &JobName) {
        if let Some(place) = self.places.remove(job) {
            self.waiting.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str) -> JobName {
        JobName::parse(name).expect("name")
    }

    #[test]
    fn no_more_jobs_than_the_limit_have_room_and_a_running_one_keeps_its_own() {
        let mut capacity = Capacity::new(Some(2));
        capacity.take(&job("a"));
        assert!(!capacity.is_full());
        capacity.take(&job("b"));
        assert!(capacity.is_full() && capacity.has_slot_for(&job("a")) && !capacity.has_slot_for(&job("c")));
        capacity.take(&job("a"));
        capacity.free_all_but(|taken| *taken != job("a"));
        assert!(capacity.has_slot_for(&job("c")), "a job has room once, however often it was taken");
    }

    #[test]
    fn who_came_first_is_called_first_and_nobody_twice() {
        let mut capacity = Capacity::new(Some(1));
        capacity.take(&job("z"));
        for name in ["c", "a", "c", "b"] {
            capacity.wait(&job(name));
        }
        assert_eq!(capacity.call_next(), None, "there is no room");
        capacity.free_all_but(|_| false);
        assert_eq!(capacity.call_next(), Some(job("c")));
        capacity.take(&job("c"));
        assert_eq!(capacity.call_next(), None);
        capacity.take(&job("a"));
        capacity.free_all_but(|_| false);
        assert_eq!(capacity.call_next(), Some(job("b")), "`a` has found room meanwhile");
        assert_eq!(capacity.call_next(), None);
    }

    #[test]
    fn another_limit_counts_at_once_with_those_that_run() {
        let running = || BTreeSet::from([job("a"), job("b")]);
        let mut capacity = Capacity::new(None);
        capacity.resize(Some(2), running());
        assert!(capacity.is_full() && capacity.has_slot_for(&job("a")));
        capacity.wait(&job("c"));
        capacity.wait(&job("d"));
        assert_eq!(capacity.call_next(), None);
        capacity.resize(Some(3), running());
        assert_eq!(capacity.call_next(), Some(job("c")));
        capacity.take(&job("c"));
        assert_eq!(capacity.call_next(), None);
        capacity.resize(None, running());
        assert_eq!(capacity.call_next(), Some(job("d")), "who waited waits no longer");
        capacity.resize(Some(1), running());
        assert!(capacity.is_full(), "those that run go on");
    }

    #[test]
    fn without_a_limit_there_is_always_room() {
        let mut capacity = Capacity::new(None);
        capacity.take(&job("a"));
        assert!(!capacity.is_full() && capacity.has_slot_for(&job("b")));
    }
}
