//! Finds what is wrong with a cluster, the worst first. Pure: it judges a snapshot, and each problem says what it means and
//! what to do.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::job::{JobName, JobSpec, Label, NodeName, Tick};
use crate::lease::SCHEMA;
use crate::store::Peer;
use crate::time::UtcMillis;

use super::expected::Expected;
use super::job::{Definition, JobState};
use super::snapshot::Snapshot;
use super::text::short_text::short_hash;
use super::text::time_format::{Rfc3339, from_now, span, utc};

mod clocks;
mod failures;
mod replicas;
mod standstill;
pub(crate) mod trigger_prospect;
mod unopened;

use clocks::{clock_differs, clock_slewed};
pub(crate) use failures::needs_depth;
use failures::{FailedRow, is_well};
use replicas::{mixed, name_taken, too_few};
use standstill::{mark_ahead, store_reset, untold, waits_for_lease};
pub(crate) use trigger_prospect::{Prospect, prospect};
use unopened::{blocked, no_record, runs_otherwise, unfit, unreadable};

/// How many entries of a job are read to find its newest failure behind ticks that were skipped.
pub(crate) const DEPTH: usize = 50;

/// The kinds of problems, by the names that programs rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The local jobs.toml is invalid.
    BadFile,
    /// A process does not end its write, so that no other process can write.
    StoreBlocked,
    /// No live replica takes ticks.
    NoReplica,
    /// Fewer replicas take ticks than the file expects.
    TooFewReplicas,
    /// No live replica has the labels of a job.
    NoReplicaFits,
    /// Two live replicas have the same name.
    NameTaken,
    /// Live replicas loaded different files.
    MixedFiles,
    /// Live replicas are of different releases.
    MixedVersions,
    /// The clock of a live replica differs from the store's.
    ClockDiffers,
    /// The store's clock runs too fast or too slow for locks of dead holders to be taken over.
    ClockSlewed,
    /// A record was written by a newer release.
    NewerSchema,
    /// A job's mark lies in the future: a clock was ahead, and ticks that it decided do not run.
    MarkAhead,
    /// The store was reset, or lost records: their jobs wait one lease.
    StoreReset,
    /// A job waits for a long lease that no replica is known to hold.
    LeaseAwaited,
    /// A job has no record, and so cannot run.
    NoRecord,
    /// The store's data of a job cannot be read.
    Unreadable,
    /// The store settings keep jobs from running.
    StoreUnfit,
    /// A tick should have been decided by now.
    Overdue,
    /// The holder of a lock sends no heartbeats.
    HolderLost,
    /// The last tick of a job did not end well.
    LastOutcome,
}

/// One problem.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClusterProblem {
    pub(crate) kind: Kind,
    pub(crate) job: Option<JobName>,
    pub(crate) node: Option<NodeName>,
    /// Since when; null if not known.
    pub(crate) since: Option<Rfc3339>,
    /// How many ticks in a row; null if not known.
    pub(crate) count: Option<u64>,
    pub(crate) message: String,
}

impl ClusterProblem {
    fn of_cluster(kind: Kind, message: String) -> Self {
        Self { kind, job: None, node: None, since: None, count: None, message }
    }

    fn of_job(job: &JobState, kind: Kind, message: String) -> Self {
        Self { job: Some(job.name.clone()), ..Self::of_cluster(kind, message) }
    }
}

/// What makes the files of all replicas the same: each loads a changed file by itself.
const SAME_FILE: &str = "copy the right jobs.toml to all of them";

/// What makes the releases of all replicas the same.
const SAME_RELEASE: &str = "upgrade the older ones";

/// Returns all problems.
pub(crate) fn problems(snapshot: &Snapshot, expected: Expected<'_>) -> Vec<ClusterProblem> {
    let live: Vec<&Peer> = snapshot.peers.iter().filter(|peer| snapshot.is_live(peer)).collect();
    let taking: Vec<&Peer> = live.iter().copied().filter(|peer| !peer.beat.draining).collect();
    let mut all = Vec::new();
    all.extend(expected.flaw.map(|flaw| ClusterProblem::of_cluster(Kind::BadFile, flaw.to_owned())));
    all.extend(snapshot.blocked.as_deref().map(blocked));
    all.extend(too_few(snapshot, expected.replicas, taking.len()));
    all.extend(mixed(&live, Kind::MixedFiles, "loaded different files", SAME_FILE, |peer| {
        short_hash(&peer.beat.file)
    }));
    all.extend(mixed(&live, Kind::MixedVersions, "are of different releases", SAME_RELEASE, |peer| {
        &peer.beat.version
    }));
    all.extend(live.iter().filter_map(|peer| name_taken(peer)));
    all.extend(live.iter().filter_map(|peer| clock_differs(peer)));
    all.extend(clock_slewed(&live, snapshot));
    all.extend(snapshot.concerns.iter().map(unfit));
    all.extend(store_reset(snapshot));
    // Nothing is expected of a job that the file does not name.
    let named = |job: &&JobState| !matches!(job.definition, Definition::Absent);
    for job in snapshot.jobs.iter().filter(named) {
        all.extend(newer_schema(job));
        all.extend(mark_ahead(job, snapshot));
        all.extend(waits_for_lease(job, snapshot));
        all.extend(unreadable(job));
        all.extend(no_record(job, snapshot, expected));
        all.extend(runs_otherwise(job, &taking, expected));
        let row = FailedRow::of(job, snapshot.ages_to);
        // Without replicas, every job is overdue, and reporting each of them would hide why.
        let unfit = (!taking.is_empty()).then(|| no_replica_fits(job, &taking, row.as_ref())).flatten();
        // Ticks that were missed because no replica fits are told with that.
        let row = row.filter(|row| unfit.is_none() || !row.may_be_for_want_of_replicas());
        all.extend(unfit);
        all.extend(
            (!taking.is_empty()).then(|| overdue(job, snapshot).or_else(|| untold(job, snapshot))).flatten(),
        );
        all.extend(holder_lost(job, snapshot));
        all.extend(row.map(|row| row.problem(job, snapshot.ages_to)));
    }
    all
}

/// Returns these problems, with those of the jobs of this snapshot as they are in it: more of these jobs was read since.
pub(crate) fn problems_again(
    all: &[ClusterProblem],
    snapshot: &Snapshot,
    expected: Expected<'_>,
) -> Vec<ClusterProblem> {
    let is_of_cluster = |problem: &&ClusterProblem| problem.job.is_none();
    let names: BTreeSet<&JobName> = snapshot.jobs.iter().map(|job| &job.name).collect();
    let is_of_others =
        |problem: &&ClusterProblem| problem.job.as_ref().is_some_and(|job| !names.contains(job));
    let again = problems(snapshot, expected).into_iter().filter(|problem| problem.job.is_some());
    let of_cluster = all.iter().filter(is_of_cluster).cloned();
    of_cluster.chain(again).chain(all.iter().filter(is_of_others).cloned()).collect()
}

fn newer_schema(job: &JobState) -> Option<ClusterProblem> {
    let schema = job.record.as_ref()?.schema;
    (schema > SCHEMA).then(|| {
        let name = &job.name;
        let message = format!(
            "`{name}` has a record of schema {schema}, and this release knows up to {SCHEMA}: replicas of this \
             release do not run it; update them"
        );
        ClusterProblem::of_job(job, Kind::NewerSchema, message)
    })
}

/// Reports a job that none of the replicas that take ticks may run, with the row of its ticks that were missed for that.
fn no_replica_fits(job: &JobState, taking: &[&Peer], row: Option<&FailedRow>) -> Option<ClusterProblem> {
    let spec = job.spec().filter(|spec| spec.enabled)?;
    // Of two replicas with the same name, only one heartbeat is seen: the other may have the labels.
    let missing = misses_labels(spec, taking).filter(|_| !taking.iter().any(|peer| peer.beat.name_taken))?;
    let row = row.filter(|row| row.may_be_for_want_of_replicas());
    let message = format!(
        "`{}` does not run: {missing}; start one with `solocron run --label {}`{}",
        spec.name,
        labels(spec, ","),
        row.map_or("", |row| row.words.as_str()),
    );
    let (since, count) = row.map_or((None, None), |row| (row.since, Some(row.count)));
    Some(ClusterProblem { since, count, ..ClusterProblem::of_job(job, Kind::NoReplicaFits, message) })
}

/// Whether the replica has all labels of the job.
fn fits(spec: &JobSpec, peer: &Peer) -> bool {
    spec.only_on.iter().all(|label| peer.beat.labels.contains(label))
}

/// Says that none of these replicas has the labels of the job; `None` if one has them.
fn misses_labels(spec: &JobSpec, peers: &[&Peer]) -> Option<String> {
    if peers.iter().any(|peer| fits(spec, peer)) {
        return None;
    }
    Some(format!("no live replica has {}", named_labels(spec)))
}

/// Returns why no live replica can take a tick of this job; `None` if one can.
pub(crate) fn no_taker(spec: &JobSpec, snapshot: &Snapshot) -> Option<String> {
    let live = snapshot.peers.iter().filter(|peer| snapshot.is_live(peer));
    let taking: Vec<&Peer> = live.filter(|peer| !peer.beat.draining).collect();
    if taking.is_empty() {
        return Some("no replica takes ticks".to_owned());
    }
    misses_labels(spec, &taking)
}

/// Returns ``the label `gpu` ``, or ``all the labels `gpu`, `eu` ``.
pub(crate) fn named_labels(spec: &JobSpec) -> String {
    let what = if spec.only_on.len() == 1 { "the label" } else { "all the labels" };
    format!("{what} `{}`", labels(spec, "`, `"))
}

/// Joins the labels of a job with this text between them.
pub(crate) fn labels(spec: &JobSpec, between: &str) -> String {
    spec.only_on.iter().map(Label::as_str).collect::<Vec<_>>().join(between)
}

/// Reports the oldest tick that should have been decided by now, and is not.
fn overdue(job: &JobState, snapshot: &Snapshot) -> Option<ClusterProblem> {
    let (spec, tick) = job.undecided(snapshot.now)?;
    is_late(spec, tick, snapshot.now).then(|| {
        let message = format!(
            "`{}` is overdue: its tick of {} UTC ({}) neither ran nor was recorded as missed; see the replicas' logs",
            spec.name,
            utc(tick.instant()),
            from_now(tick.instant(), snapshot.ages_to)
        );
        ClusterProblem { since: Some(Rfc3339(tick.instant())), ..ClusterProblem::of_job(job, Kind::Overdue, message) }
    })
}

/// Whether the tick should have been decided by now.
fn is_late(spec: &JobSpec, tick: Tick, now: UtcMillis) -> bool {
    now.since(tick.instant()) > spec.start_deadline_of(tick) + spec.lease
}

fn holder_lost(job: &JobState, snapshot: &Snapshot) -> Option<ClusterProblem> {
    let (running, record) = (job.running()?, job.record.as_ref()?);
    let node = running.node?;
    if snapshot.is_holder_alive(record) {
        return None;
    }
    let heard = snapshot.peers.iter().find(|peer| peer.beat.node == node).map(|peer| peer.at);
    let silence = heard.map_or("no heartbeat within the last hour".to_owned(), |at| {
        format!("last heartbeat {}", from_now(at, snapshot.ages_to))
    });
    let left = record.lock_left(snapshot.now);
    let lock = match left.is_zero() {
        true if snapshot.peers.iter().any(|peer| snapshot.is_live(peer)) => {
            "its lock has expired; a live replica records the run as interrupted".to_owned()
        }
        true => "its lock has expired; the run is recorded once a replica is up".to_owned(),
        false => format!("its lock expires in {} unless it is renewed", span(left)),
    };
    let message = format!("`{}` was running on {node}, {silence}; {lock}", job.name);
    let since = heard.map(Rfc3339);
    Some(ClusterProblem { node: Some(node), since, ..ClusterProblem::of_job(job, Kind::HolderLost, message) })
}

#[cfg(test)]
mod tests;
