//! Everything that is known of a campaign when it is over: what the checker judges by.

use std::collections::BTreeMap;

use crate::fault::{Fault, Kind};
use crate::inspector::Look;
use crate::jobs::JobPlan;
use crate::ledger::Recorded;
use crate::renewals::Renewals;
use crate::testimony::Testimony;

/// A server that takes longer to answer one question stands still: without a fault that takes a few milliseconds.
const STALL_MS: i64 = 300;

/// What a fault does to the server itself is over by then.
const AFTERMATH_MS: i64 = 10_000;

/// For as long living replicas may not know that the store went back to an older state: a heartbeat comes every second, and a
/// claim that is under way by then, with the start of its run, takes half a second more.
const UNNOTICED_MS: i64 = 1_500;

/// The heartbeat's exchange and the claim's: each takes as long as a line makes it.
const EXCHANGES: i64 = 2;

/// What a store has when it is made to forget is read this long before at the most.
const READ_BEFORE_MS: i64 = 2_000;

/// An older state is kept within this time of when its fault begins.
const COPIED_MS: i64 = 1_000;

/// Once a store has gone back, it is noted down within this time that it has.
const NOTED_MS: i64 = 200;

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
    /// When each of these was first read, by job and name.
    pub(crate) read_ms: BTreeMap<(String, String), i64>,
    /// Pairs of records that can never be in one store, and were.
    pub(crate) contradictions: Vec<[Recorded; 2]>,
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

    /// Whether everything stood still for a moment in this span of time, or the server did without a fault: the machine's disk
    /// was busy, for example, and the server waited for it.
    pub(crate) fn was_held_up(&self, from_ms: i64, to_ms: i64) -> bool {
        let stalls = |look: &&Look| {
            look.asked_ms > STALL_MS && !self.had_fault(look.begun_ms - AFTERMATH_MS, look.ended_ms)
        };
        let stalled = self.looks.iter().filter(stalls).map(|look| (look.begun_ms, look.ended_ms));
        let mut all = self.held_up_ms.iter().copied().chain(stalled);
        all.any(|(from, to)| from <= to_ms && from_ms <= to)
    }

    /// Whether anything was done to them in this span of time.
    pub(crate) fn had_fault(&self, from_ms: i64, to_ms: i64) -> bool {
        self.faults.iter().any(|fault| fault.touches(from_ms, to_ms))
    }

    /// Whether the store went back to an older state after it had decided a tick, which it was asked to at this instant or later,
    /// and in the span of time replicas may not have known of that. What was decided before the older state was kept is in it.
    /// No lock promises anything to who was not told of a tick then: docs/fencing.md has it among the limits.
    pub(crate) fn forgot_tick(&self, asked_ms: i64, span_ms: (i64, i64)) -> bool {
        self.went_back(asked_ms, span_ms, |fault| fault.begun_ms - COPIED_MS <= asked_ms)
    }

    /// Whether the second run was granted by a store that went back to an older state, and knew nothing of the first's tick, to a
    /// replica that did not know of it either.
    pub(crate) fn forgot_tick_between(&self, first: &Testimony, second: &Testimony) -> bool {
        !self.is_known(first, second) && self.forgot_tick(self.asked_ms(first), at_start(second))
    }

    /// Whether the second run was granted by a store that went back to an older state, and knew nothing of the first's lock, or that
    /// it was over, to a replica that did not know of it either.
    pub(crate) fn forgot_lock_between(&self, first: &Testimony, second: &Testimony) -> bool {
        !self.is_known(first, second) && self.went_back(self.asked_ms(first), at_start(second), |_| true)
    }

    fn went_back(
        &self,
        asked_ms: i64,
        (from_ms, to_ms): (i64, i64),
        may_lack: impl Fn(&Fault) -> bool,
    ) -> bool {
        let mut faults = self.faults.iter().filter(|fault| fault.kind.goes_back() && may_lack(fault));
        faults.any(|fault| {
            let noticed_ms = fault.ended_ms + UNNOTICED_MS;
            let lines = self.faults.iter().filter(|line| line.touches(fault.ended_ms, noticed_ms));
            let longest_ms = lines.map(Fault::exchange_ms).max().unwrap_or_default();
            asked_ms < fault.ended_ms
                && fault.ended_ms - NOTED_MS <= to_ms
                && from_ms <= noticed_ms + EXCHANGES * longest_ms
        })
    }

    /// Whether both runs are of one replica that was not started anew between them.
    fn is_known(&self, first: &Testimony, second: &Testimony) -> bool {
        let (from_ms, to_ms) = (first.started_utc_ms, second.started_utc_ms);
        let is_restart = |fault: &&Fault| matches!(fault.kind, Kind::KillReplica | Kind::KillBoth);
        let mut restarts = self.faults.iter().filter(is_restart);
        first.node == second.node
            && !restarts.any(|fault| fault.target == first.node && fault.touches(from_ms, to_ms))
    }

    /// Whether a store forgot after the one of two entries was first read, and before the other was.
    pub(crate) fn forgot_between(&self, one: &Recorded, other: &Recorded) -> bool {
        let (one, other) = (self.read_ms(one), self.read_ms(other));
        let between = one.min(other).saturating_sub(READ_BEFORE_MS)..=one.max(other);
        self.losses_ms.iter().any(|lost_ms| between.contains(lost_ms))
    }

    /// When this was first read from a store: it was recorded before. The latest instant of all where that is not known.
    pub(crate) fn read_ms(&self, entry: &Recorded) -> i64 {
        self.read_ms.get(&entry.name()).copied().unwrap_or(i64::MAX)
    }

    /// When its lock was asked for, as far as its replica logged that: a slow answer or a busy machine starts it later.
    pub(crate) fn asked_ms(&self, run: &Testimony) -> i64 {
        let sent_ms = self.renewals.get(&run.run).and_then(|sent| sent.first().copied());
        run.started_utc_ms - (run.started_ms - sent_ms.unwrap_or(run.started_ms)).max(0)
    }

    /// Whether a store lost its memory in this span of time.
    pub(crate) fn forgot(&self, from_ms: i64, to_ms: i64) -> usize {
        self.losses_ms.iter().filter(|at| (from_ms..=to_ms).contains(at)).count()
    }
}

/// The span of time in which a run was granted.
fn at_start(run: &Testimony) -> (i64, i64) {
    (run.started_utc_ms, run.started_utc_ms)
}
