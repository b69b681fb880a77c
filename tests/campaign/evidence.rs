//! Everything that is known of a campaign when it is over: what the checker judges by.

use std::collections::BTreeMap;

use crate::fault::Fault;
use crate::inspector::Look;
use crate::jobs::JobPlan;
use crate::ledger::Recorded;
use crate::renewals::Renewals;
use crate::testimony::Testimony;

/// What is known. Instants are the machine's wall clock unless they say otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) jobs: Vec<JobPlan>,
    /// What the jobs wrote down.
    pub(crate) runs: Vec<Testimony>,
    /// What the replicas logged of their renewals.
    pub(crate) renewals: Renewals,
    /// What the stores recorded.
    pub(crate) entries: Vec<Recorded>,
    /// When a store may have lost its memory.
    pub(crate) losses_ms: Vec<i64>,
    /// When the machine stood still by itself.
    pub(crate) held_up_ms: Vec<(i64, i64)>,
    /// What `status` said, and what was seen beside it.
    pub(crate) looks: Vec<Look>,
    /// What was done to them.
    pub(crate) faults: Vec<Fault>,
    /// When the job that is paused now and then may have been.
    pub(crate) pauses_ms: Vec<(i64, i64)>,
    /// How often operators did what, and were told that it was done.
    pub(crate) hands: BTreeMap<&'static str, u64>,
    /// How often the proxies saw each answer, and did each trick.
    pub(crate) replies: BTreeMap<String, u64>,
    /// Processes left behind, and replicas that ended as they should not.
    pub(crate) troubles: Vec<String>,
    /// From when to when there were replicas to run what came.
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

impl Evidence {
    /// The runs of a job, in order of their start.
    pub(crate) fn runs_of(&self, job: &str) -> Vec<&Testimony> {
        let mut runs: Vec<&Testimony> = self.runs.iter().filter(|run| run.job == job).collect();
        runs.sort_by_key(|run| run.started_ms);
        runs
    }

    /// Whether everything stood still for a moment in this span of time.
    pub(crate) fn was_held_up(&self, from_ms: i64, to_ms: i64) -> bool {
        self.held_up_ms.iter().any(|(from, to)| *from <= to_ms && from_ms <= *to)
    }

    /// Whether anything was done to them in this span of time.
    pub(crate) fn had_fault(&self, from_ms: i64, to_ms: i64) -> bool {
        self.faults.iter().any(|fault| fault.touches(from_ms, to_ms))
    }

    /// Whether a store lost its memory in this span of time.
    pub(crate) fn forgot(&self, from_ms: i64, to_ms: i64) -> usize {
        self.losses_ms.iter().filter(|at| (from_ms..=to_ms).contains(at)).count()
    }
}
