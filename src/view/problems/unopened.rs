//! Finds jobs that have no record, or none that can be read, and why that may be.

use std::time::Duration;

use crate::store::{Concern, Peer};
use crate::time::UtcMillis;
use crate::view::job::JobState;
use crate::view::snapshot::Snapshot;

use super::super::expected::Expected;
use super::{ClusterProblem, Kind};

/// By this time after its start, a replica has opened its jobs' records, however busy its machine.
const TO_OPEN: Duration = Duration::from_secs(10);

/// Reports a finding about the store because of which no job can run.
pub(super) fn unfit(concern: &Concern) -> ClusterProblem {
    let help = concern.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
    let message = format!("{}: {}{help}", concern.what, concern.value);
    ClusterProblem::of_cluster(Kind::StoreUnfit, message)
}

/// Reports the process that keeps all others from writing.
pub(super) fn blocked(who: &str) -> ClusterProblem {
    let message = format!("no replica can write to the store, so no job runs: {who}");
    ClusterProblem::of_cluster(Kind::StoreBlocked, message)
}

/// Reports a job whose data in the store is not what replicas write.
pub(super) fn unreadable(job: &JobState) -> Option<ClusterProblem> {
    let (name, why) = (&job.name, job.unread.as_ref()?);
    let message = format!("the store's data for `{name}` cannot be read, and the job may not run: {why}");
    Some(ClusterProblem::of_job(job, Kind::Unreadable, message))
}

/// Reports a job that all replicas that take ticks know by another file only: it runs by another schedule than this file's,
/// or not at all.
pub(super) fn runs_otherwise(
    job: &JobState,
    taking: &[&Peer],
    expected: Expected<'_>,
) -> Option<ClusterProblem> {
    let (spec, record, file) = (job.spec()?, job.record.as_ref()?, expected.valid_file()?);
    let is_loaded = taking.iter().any(|peer| peer.beat.file == file);
    let is_other = spec.enabled && job.by_this_schedule(record).is_none();
    (is_other && !is_loaded && !taking.is_empty()).then(|| {
        let message = format!(
            "the replicas have another schedule for `{}` than this jobs.toml, or none: no live replica has loaded this jobs.toml; reload them",
            spec.name
        );
        ClusterProblem::of_job(job, Kind::MixedFiles, message)
    })
}

/// Reports a job that no replica could open, or that no replica knows.
pub(super) fn no_record(
    job: &JobState,
    snapshot: &Snapshot,
    expected: Expected<'_>,
) -> Option<ClusterProblem> {
    let file = expected.valid_file()?;
    let could_open = |peer: &&Peer| {
        let started = UtcMillis(peer.beat.started.0.saturating_sub(peer.beat.ahead_ms.unwrap_or(0)));
        snapshot.is_live(peer) && !peer.beat.draining && snapshot.now.since(started) >= TO_OPEN
    };
    let mut able = snapshot.peers.iter().filter(could_open).peekable();
    if !job.lacks_record() || able.peek().is_none() {
        return None;
    }
    let why = if able.any(|peer| peer.beat.file == file) {
        "no replica could open it; see the replicas' logs, and `solocron check --probe`"
    } else {
        "no live replica has loaded this jobs.toml; reload them"
    };
    let message = format!("`{}` does not run: it has no record in the store, as {why}", job.name);
    Some(ClusterProblem::of_job(job, Kind::NoRecord, message))
}

#[cfg(test)]
#[path = "unopened_tests.rs"]
mod tests;
