//! What was true when: the account compares entries with it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::job::{JobName, JobSpec};
use crate::replica::simulation::world::clock::Moment;

use super::jobs::Jobs;

/// From when to when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: Moment,
    pub(super) to: Moment,
}

impl Span {
    /// The span of one moment.
    pub(super) fn at(at: Moment) -> Self {
        Self { from: at, to: at }
    }

    /// Whether the two have a moment in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.from <= other.to && self.to >= other.from
    }
}

/// A definition of a job, by the replicas that loaded it one after the other.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    /// When the first may have loaded it.
    pub(super) first: Moment,
    /// When all of them had.
    pub(super) last: Moment,
    pub(super) spec: Arc<JobSpec>,
}

/// Everything by which an entry may be judged.
pub(super) struct Log {
    pub(super) phases: BTreeMap<JobName, Vec<Phase>>,
    /// When the store was away.
    pub(super) outages: Vec<Span>,
    /// When another era of the store began.
    pub(super) lives: Vec<Moment>,
    /// When each seat had no replica that moved, by a clock that was right.
    pub(super) absences: BTreeMap<usize, Vec<Span>>,
    /// When each job was paused.
    pub(super) pauses: BTreeMap<JobName, Vec<Span>>,
    /// How often what happened.
    pub(super) counts: BTreeMap<String, u64>,
}

impl Log {
    pub(super) fn begun(jobs: &Jobs) -> Self {
        let phase =
            |spec: &Arc<JobSpec>| vec![Phase { first: Moment(0), last: Moment(0), spec: Arc::clone(spec) }];
        Self {
            phases: jobs.iter().map(|(name, job)| (name.clone(), phase(&job.spec))).collect(),
            outages: Vec::new(),
            lives: Vec::new(),
            absences: BTreeMap::new(),
            pauses: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    pub(super) fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// When the newest edit was loaded by all.
    pub(super) fn edits_end(&self) -> Moment {
        self.phases.values().flatten().map(|phase| phase.last).max().unwrap_or_default()
    }

    /// Another file is loaded in this span.
    pub(super) fn edited(&mut self, jobs: &Jobs, during: Span) {
        for (name, job) in Rc::clone(jobs).iter() {
            let phases = self.phases.entry(name.clone()).or_default();
            if phases.last().is_none_or(|phase| *phase.spec != *job.spec) {
                phases.push(Phase { first: during.from, last: during.to, spec: Arc::clone(&job.spec) });
            }
        }
    }
}
