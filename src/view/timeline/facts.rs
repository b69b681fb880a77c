//! What a timeline is drawn from.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::events::{EventWord, NewsItem};
use crate::job::{Cause, Fence, JobName, JobSpec, NodeName, RunId, Tick};
use crate::lease::{HistoryEntry, Pausing, Record};
use crate::store::Peer;
use crate::time::UtcMillis;

/// What is known of a span of time. Every instant in it is by the store's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimelineFacts<'a> {
    /// Ticks that were decided, from every source, in any order. What is there twice is drawn once.
    pub past: &'a [PastTick<'a>],
    /// The current runs.
    pub running: &'a [CurrentRun],
    /// The jobs. In the order by job, each of the first 40 has a lane, and the ticks of other jobs are left
    /// out.
    pub jobs: &'a [TimelineJob<'a>],
    /// Every replica with a heartbeat within the last hour.
    pub peers: &'a [Peer],
    /// What replicas told.
    pub news: &'a [TimelineNews],
    /// The hash of the jobs.toml that the replicas should have loaded; `None` if that is not known.
    pub file: Option<&'a str>,
}

/// Which lanes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LaneOrder {
    /// One for each replica, and one for what did not run.
    #[default]
    ByReplica,
    /// One for each job.
    ByJob,
}

/// A tick that was decided, or several that share an entry.
#[derive(Debug, Clone, Copy)]
pub struct PastTick<'a> {
    /// The job.
    pub job: &'a JobName,
    /// The entry of its history; its output is not used.
    pub entry: &'a HistoryEntry,
}

/// A run that has not ended, as far as the store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentRun {
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
    /// The replica that has it.
    pub node: NodeName,
    /// Its tick.
    pub tick: Tick,
    /// Its fencing token.
    pub fence: Fence,
    /// Why it was started.
    pub cause: Cause,
    /// When it began.
    pub started: UtcMillis,
    /// The last sign of life of its holder.
    pub last_alive: UtcMillis,
    /// Whether its holder has shown lately that it lives.
    pub is_live: bool,
    /// When its lock expires unless it is renewed.
    pub lease_ends: UtcMillis,
}

/// A job on a timeline.
#[derive(Debug, Clone)]
pub struct TimelineJob<'a> {
    /// Its name.
    pub name: &'a JobName,
    /// Its definition; `None` if no valid one is known: then no ticks to come are drawn, and no leases.
    pub spec: Option<&'a JobSpec>,
    /// The latest pause or resume.
    pub pausing: Option<Pausing>,
    /// How long it usually takes.
    pub usual: Option<Duration>,
    /// The instant before which its history was not read; `None` if all of it was.
    pub read_from: Option<UtcMillis>,
}

/// Something that a replica told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineNews {
    /// The replica.
    pub node: NodeName,
    /// When it happened.
    pub at: UtcMillis,
    /// What happened.
    pub what: NewsKind,
}

/// What a replica told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewsKind {
    /// The store did not answer any more.
    StoreLost,
    /// The store answered, for the first time or again.
    StoreReached,
    /// The store is in a new era, or its clock was stepped or is slewed: what changed, in words.
    StoreChanged(String),
    /// The wall clock of the replica's machine was stepped.
    ClockStepped,
    /// The replica began to drain.
    Draining,
    /// A run may have lost its lock, and is stopped.
    LockLost(RunId),
}

/// The definitions of the jobs of a timeline.
pub(super) type TimelineSpecs<'a> = BTreeMap<&'a JobName, &'a JobSpec>;

impl<'a> TimelineFacts<'a> {
    /// Returns the definitions of its jobs.
    pub(super) fn specs(&self) -> TimelineSpecs<'a> {
        self.jobs.iter().filter_map(|job| Some((job.name, job.spec?))).collect()
    }
}

impl TimelineNews {
    /// Returns what a timeline shows of an item of news; `None` if it shows it otherwise or not at all.
    pub fn of(item: &NewsItem) -> Option<Self> {
        let what = match item.what() {
            EventWord::StoreLost => NewsKind::StoreLost,
            EventWord::StoreReached => NewsKind::StoreReached,
            EventWord::StoreChanged => NewsKind::StoreChanged(item.detail()?.to_owned()),
            EventWord::ClockStepped => NewsKind::ClockStepped,
            EventWord::Draining => NewsKind::Draining,
            EventWord::LockLost => NewsKind::LockLost(item.run()?),
            _ => return None,
        };
        Some(Self { node: item.node().clone(), at: item.at(), what })
    }
}

impl CurrentRun {
    /// Returns the run that a record shows as running; `None` if there is none. `is_live`: whether its holder
    /// has shown lately that it lives.
    pub fn of(job: &JobName, record: &Record, is_live: bool, now: UtcMillis) -> Option<Self> {
        let started = record.started.filter(|_| record.is_running())?;
        Some(Self {
            job: job.clone(),
            run: record.run?,
            node: record.owner.clone()?,
            tick: record.tick?,
            fence: record.fence,
            cause: record.cause.unwrap_or(Cause::Schedule),
            started,
            last_alive: record.ended.unwrap_or(started),
            is_live,
            lease_ends: now.plus(record.lock_left(now)),
        })
    }
}
