//! How all jobs of the file stand, as the last sweep of the store found them: how many are in which state, and how many
//! have which problem. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::job::{JobName, JobSpec};
use crate::lease::Record;
use crate::metrics::{JobCounts, JobFigures, TroubleCounts};
use crate::store::{JobStanding, Peer};
use crate::time::UtcMillis;
use crate::view::expected::Expected;
use crate::view::job::JobState;
use crate::view::problems::{Kind, problems};
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
#[derive(Debug)]
pub(crate) struct SweepFindings {
    pub(crate) counts: SweepCounts,
    /// What metrics need of each job whose record is under the schedule of the file.
    pub(crate) figures: Vec<(JobName, JobFigures)>,
}

/// Returns the findings of a sweep at `now`, by the store's clock. `standings` are those of the jobs, in their order.
pub(crate) fn findings_of(
    jobs: &JobsByName,
    standings: &[Option<JobStanding>],
    peers: &[Peer],
    now: UtcMillis,
) -> SweepFindings {
    let records = standings.iter().map(|standing| standing.as_ref().map(JobStanding::to_record));
    let states = jobs.values().zip(records);
    let states: Vec<JobState> = states
        .map(|(spec, record)| JobState::of(Arc::clone(spec).into(), Ok(record), Ok(Vec::new())))
        .collect();
    let figures = states.iter().filter_map(|job| Some((job.name.clone(), figures_of(job, now)?))).collect();
    let snapshot = Snapshot::of(now, peers.to_vec(), states);
    SweepFindings { counts: counts_of(&snapshot), figures }
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

fn counts_of(snapshot: &Snapshot) -> SweepCounts {
    let found = problems(snapshot, Expected::default());
    let with = |kind: Kind| found.iter().filter(|problem| problem.kind == kind).count() as u64;
    let jobs =
        |is_it: &dyn Fn(&JobState) -> bool| snapshot.jobs.iter().filter(|job| is_it(job)).count() as u64;
    let is_enabled = |job: &JobState| job.spec().is_some_and(|spec| spec.enabled);
    let record = |job: &JobState, is_it: &dyn Fn(&Record) -> bool| job.record.as_ref().is_some_and(is_it);
    let is_failing = |job: &JobState| is_enabled(job) && record(job, &|record| record.failures_in_row > 0);
    let failing = jobs(&is_failing);
    SweepCounts {
        jobs: JobCounts {
            enabled: jobs(&is_enabled),
            disabled: jobs(&|job| !is_enabled(job)),
            paused: jobs(&|job| {
                record(job, &|record| record.paused.is_some_and(|until| until > snapshot.now))
            }),
            running: jobs(&|job| {
                record(job, &|record| job.running().is_some() && snapshot.is_holder_alive(record))
            }),
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
