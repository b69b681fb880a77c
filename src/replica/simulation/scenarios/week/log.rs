//! What was true when: the account compares entries with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::job::{JobSpec, RunId};
use crate::replica::simulation::world::clock::Moment;

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

/// Everything by which an entry may be judged. Jobs are named by their numbers.
#[derive(Default)]
pub(super) struct Log {
    /// The definitions of each job.
    pub(super) phases: Vec<Vec<Phase>>,
    /// When the store was away.
    pub(super) outages: Vec<Span>,
    /// When another era of the store began.
    pub(super) lives: Vec<Moment>,
    /// When each seat had no replica that moved, by a clock that was right.
    pub(super) absences: BTreeMap<usize, Vec<Span>>,
    /// When each job was paused.
    pub(super) pauses: BTreeMap<usize, Vec<Span>>,
    /// Runs whose grant may not have reached the replica.
    pub(super) unheard: BTreeSet<RunId>,
    /// When answers about a job were lost: to the replica that had sent the request, the store was away.
    pub(super) lost: BTreeMap<usize, Vec<Moment>>,
}

impl Log {
    pub(super) fn begun(jobs: &[Arc<JobSpec>]) -> Self {
        let mut log = Self { phases: vec![Vec::new(); jobs.len()], ..Self::default() };
        log.edited(jobs, Span::at(Moment(0)));
        log
    }

    /// When the newest edit was loaded by all.
    pub(super) fn edits_end(&self) -> Moment {
        self.phases.iter().flatten().map(|phase| phase.last).max().unwrap_or_default()
    }

    /// Another file is loaded in this span.
    pub(super) fn edited(&mut self, jobs: &[Arc<JobSpec>], during: Span) {
        for (phases, spec) in self.phases.iter_mut().zip(jobs) {
            if phases.last().is_none_or(|phase| phase.spec != *spec) {
                phases.push(Phase { first: during.from, last: during.to, spec: Arc::clone(spec) });
            }
        }
    }

    /// A seat has no replica that moves, by a clock that is right.
    pub(super) fn absent(&mut self, seat: usize, during: Span) {
        self.absences.entry(seat).or_default().push(during);
    }
}
