//! The output of `status` for programs: the names are stable, and what does not apply is null.

use serde::Serialize;

use crate::job::{Cause, Fence, JobName, Label, NodeName, RunId, Tick};
use crate::lease::{Pausing, Record};
use crate::store::{Peer, StageTimes};

use super::expected::Expected;
use super::history::TickView;
use super::job::JobState;
use super::problems::{ClusterProblem, problems};
use super::snapshot::Snapshot;
use super::text::time_format::Rfc3339;

/// The state of a cluster.
#[derive(Debug, Serialize)]
pub(crate) struct StatusView {
    /// Whether nothing is wrong.
    pub(crate) ok: bool,
    pub(crate) problems: Vec<ClusterProblem>,
    pub(crate) replicas: Vec<ReplicaView>,
    pub(crate) jobs: Vec<JobView>,
}

/// A replica with a heartbeat within the last hour.
#[derive(Debug, Serialize)]
pub(crate) struct ReplicaView {
    pub(crate) node: NodeName,
    /// Whether it has sent a heartbeat lately.
    pub(crate) live: bool,
    pub(crate) draining: bool,
    /// Whether it runs as many jobs as `max_running` allows.
    pub(crate) full: bool,
    /// When it started, by its own clock.
    pub(crate) started: Rfc3339,
    pub(crate) heard: Rfc3339,
    pub(crate) version: String,
    /// Hash of the file it loaded.
    pub(crate) file: String,
    /// Whether that is the local jobs.toml; null if there is none.
    pub(crate) same_file: Option<bool>,
    pub(crate) labels: Vec<Label>,
    /// Its runs, while it is live.
    pub(crate) running: Vec<RunView>,
    /// The runs of its last heartbeat that are not recorded yet, while it is not live.
    pub(crate) was_running: Vec<RunView>,
    /// How long the starts of its runs take, per stage; `late` covers the whole start.
    pub(crate) stages: Vec<StageTimes>,
}

/// A run of a replica.
#[derive(Debug, Serialize)]
pub(crate) struct RunView {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
}

/// A job.
#[derive(Debug, Serialize)]
pub(crate) struct JobView {
    pub(crate) job: JobName,
    /// Whether the local jobs.toml names it; null if not known.
    pub(crate) in_file: Option<bool>,
    /// Whether the local jobs.toml enables it; null if not known.
    pub(crate) enabled: Option<bool>,
    /// The labels that a replica must carry to run it.
    pub(crate) only_on: Vec<Label>,
    pub(crate) next: Option<Rfc3339>,
    pub(crate) next_ms: Option<Tick>,
    /// When its pause ends by itself, if it does.
    pub(crate) paused_until: Option<Rfc3339>,
    pub(crate) paused: Option<PausedView>,
    /// Whether the store has a record of it.
    pub(crate) known: bool,
    /// Whether the cluster decides ticks by the schedule of the local jobs.toml; null if not known.
    pub(crate) same_schedule: Option<bool>,
    /// The newest decided tick, as in `history`, without its output.
    pub(crate) last: Option<TickView>,
    /// The newest tick that succeeded.
    pub(crate) last_success_tick: Option<Rfc3339>,
    /// The latest end of a run that succeeded.
    pub(crate) last_success_end: Option<Rfc3339>,
    /// How many ticks in a row did not succeed since then, without skipped ticks and killed runs; null if not known.
    pub(crate) failures_in_row: Option<u64>,
    /// The end of the first of them.
    pub(crate) failing_since: Option<Rfc3339>,
    pub(crate) lock: Option<LockView>,
}

/// The current pause of a job.
#[derive(Debug, Serialize)]
pub(crate) struct PausedView {
    pub(crate) by: Option<String>,
    pub(crate) since: Option<Rfc3339>,
    pub(crate) reason: Option<String>,
}

/// A lock that is held.
#[derive(Debug, Serialize)]
pub(crate) struct LockView {
    pub(crate) node: Option<NodeName>,
    /// Whether its holder has shown lately that it lives.
    pub(crate) live: bool,
    pub(crate) run: Option<RunId>,
    pub(crate) tick: Rfc3339,
    pub(crate) tick_ms: Tick,
    pub(crate) fence: Option<Fence>,
    pub(crate) cause: Option<Cause>,
    pub(crate) since: Option<Rfc3339>,
}

impl StatusView {
    pub(crate) fn of(snapshot: &Snapshot, expected: Expected<'_>) -> Self {
        let problems = problems(snapshot, expected);
        Self {
            ok: problems.is_empty(),
            problems,
            replicas: snapshot.peers.iter().map(|peer| replica(peer, snapshot, expected)).collect(),
            jobs: snapshot.jobs.iter().map(|job| self::job(job, snapshot)).collect(),
        }
    }
}

fn replica(peer: &Peer, snapshot: &Snapshot, expected: Expected<'_>) -> ReplicaView {
    let beat = &peer.beat;
    let live = snapshot.is_live(peer);
    let runs = || beat.running.iter().map(|run| RunView { job: run.job.clone(), run: run.run });
    ReplicaView {
        node: beat.node.clone(),
        live,
        draining: beat.draining,
        full: beat.full,
        started: Rfc3339(beat.started),
        heard: Rfc3339(peer.at),
        version: beat.version.clone(),
        file: beat.file.clone(),
        same_file: expected.file.map(|file| file == beat.file),
        labels: beat.labels.clone(),
        running: runs().filter(|_| live).collect(),
        was_running: runs().filter(|run| !live && snapshot.is_open(run.run)).collect(),
        stages: beat.stages.clone(),
    }
}

fn job(job: &JobState, snapshot: &Snapshot) -> JobView {
    let (spec, record) = (job.spec(), job.record.as_ref());
    let scheduled = spec.filter(|spec| spec.enabled);
    let next = scheduled.and_then(|spec| spec.schedule.next_after(snapshot.now));
    let paused = record.and_then(|record| record.paused.filter(|until| *until > snapshot.now));
    let is_same = |record: &Record| job.by_this_schedule(record).is_some();
    JobView {
        job: job.name.clone(),
        in_file: job.definition.is_in_file(),
        enabled: spec.map(|spec| spec.enabled),
        only_on: spec.map(|spec| spec.only_on.clone()).unwrap_or_default(),
        next: next.map(|tick| Rfc3339(tick.instant())),
        next_ms: next,
        paused_until: paused.filter(|until| *until < Pausing::UNTIL_RESUMED).map(Rfc3339),
        paused: paused.and(record).map(|record| PausedView {
            by: record.paused_by.clone(),
            since: record.paused_at.map(Rfc3339),
            reason: record.paused_why.clone(),
        }),
        known: record.is_some(),
        same_schedule: spec.map(|spec| !spec.enabled || record.is_none_or(is_same)),
        last: job.decided().next_back().map(TickView::without_output),
        last_success_tick: record
            .and_then(|record| record.last_success_tick)
            .map(|tick| Rfc3339(tick.instant())),
        last_success_end: record.and_then(|record| record.last_success_end).map(Rfc3339),
        failures_in_row: record.map(|record| record.failures_in_row),
        failing_since: record.and_then(|record| record.failing_since).map(Rfc3339),
        lock: job.running().zip(record).map(|(running, record)| lock(running, record, snapshot)),
    }
}

fn lock(running: TickView, record: &Record, snapshot: &Snapshot) -> LockView {
    LockView {
        live: snapshot.is_holder_alive(record),
        node: running.node,
        run: running.run,
        tick: running.tick,
        tick_ms: running.tick_ms,
        fence: running.fence,
        cause: running.cause,
        since: running.started,
    }
}
