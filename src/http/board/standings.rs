//! How all jobs of the file stand, as the last sweep of the store found them: how many are in which state, and how many
//! have which problem. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::job::{JobName, JobSpec};
use crate::metrics::{JobCounts, JobFigures, TroubleCounts};
use crate::store::{JobStanding, Peer};
use crate::time::UtcMillis;
use crate::view::expected::Expected;
use crate::view::job::{JobCondition, JobList, JobState};
use crate::view::problems::Kind;
use crate::view::snapshot::Snapshot;

/// The jobs of a file by name.
pub(crate) type JobsByName = BTreeMap<JobName, Arc<JobSpec>>;

/// The counts of one sweep.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SweepCounts {
    pub(crate) jobs: JobCounts,
    pub(crate) troubles: TroubleCounts,
}

/// What one sweep found.
#[derive(Debug, Default)]
pub(crate) struct SweepFindings {
    pub(crate) counts: SweepCounts,
    /// What metrics need of each job whose record is under the schedule of the file.
    pub(crate) figures: Vec<(JobName, JobFigures)>,
}

impl SweepFindings {
    /// Takes in what was found of some jobs at `now`, by the store's clock. `standings` are those of the jobs, in their order.
    pub(crate) fn take_in(
        &mut self,
        jobs: &[&Arc<JobSpec>],
        standings: &[Option<JobStanding>],
        peers: &[Peer],
        now: UtcMillis,
    ) {
        let records = standings.iter().map(|standing| standing.as_ref().map(JobStanding::to_record));
        let states = jobs.iter().map(|spec| Arc::clone(spec)).zip(records);
        let states: Vec<JobState> =
            states.map(|(spec, record)| JobState::of(spec.into(), Ok(record), Ok(Vec::new()))).collect();
        self.figures.extend(states.iter().filter_map(|job| Some((job.name.clone(), figures_of(job, now)?))));
        // Each of these counts is about jobs: that of all of them is the sum.
        let list = JobList::of(&Snapshot::of(now, peers.to_vec(), states), Expected::default());
        self.counts.add(counts_of(&list));
    }
}

impl SweepCounts {
    /// Adds the counts of other jobs.
    fn add(&mut self, other: Self) {
        let Self { jobs, troubles } = other;
        for (count, more) in [
            (&mut self.jobs.enabled, jobs.enabled),
            (&mut self.jobs.disabled, jobs.disabled),
            (&mut self.jobs.paused, jobs.paused),
            (&mut self.jobs.running, jobs.running),
            (&mut self.jobs.failing, jobs.failing),
            (&mut self.jobs.overdue, jobs.overdue),
            (&mut self.troubles.no_replica_fits, troubles.no_replica_fits),
            (&mut self.troubles.newer_schema, troubles.newer_schema),
            (&mut self.troubles.mark_ahead, troubles.mark_ahead),
            (&mut self.troubles.lease_awaited, troubles.lease_awaited),
            (&mut self.troubles.no_record, troubles.no_record),
            (&mut self.troubles.unreadable, troubles.unreadable),
            (&mut self.troubles.overdue, troubles.overdue),
            (&mut self.troubles.holder_lost, troubles.holder_lost),
            (&mut self.troubles.last_outcome, troubles.last_outcome),
        ] {
            *count += more;
        }
    }
}

fn figures_of(job: &JobState, now: UtcMillis) -> Option<JobFigures> {
    let record = job.record.as_ref()?;
    job.by_this_schedule(record)?;
    Some(JobFigures {
        undecided: job.undecided(now).map(|(_, tick)| tick),
        last_success_tick: record.last_success_tick,
        last_success_end: record.last_success_end,
        failures_in_row: record.failures_in_row,
        failing_since: record.failing_since,
        schedule_since: record.schedule_since,
        paused_until: record.paused,
        paused_at: record.paused_at,
    })
}

fn counts_of(list: &JobList) -> SweepCounts {
    let with = |kind: Kind| list.problems.iter().filter(|problem| problem.kind == kind).count() as u64;
    let jobs = |condition| list.count(Some(condition)) as u64;
    let (disabled, failing) = (jobs(JobCondition::Disabled), jobs(JobCondition::Failing));
    SweepCounts {
        jobs: JobCounts {
            enabled: list.jobs().len() as u64 - disabled,
            disabled,
            paused: jobs(JobCondition::Paused),
            running: jobs(JobCondition::Running),
            failing,
            overdue: with(Kind::Overdue),
        },
        troubles: TroubleCounts {
            no_replica_fits: with(Kind::NoReplicaFits),
            newer_schema: with(Kind::NewerSchema),
            mark_ahead: with(Kind::MarkAhead),
            lease_awaited: with(Kind::LeaseAwaited),
            no_record: with(Kind::NoRecord),
            unreadable: with(Kind::Unreadable),
            overdue: with(Kind::Overdue),
            holder_lost: with(Kind::HolderLost),
            last_outcome: failing,
        },
    }
}
