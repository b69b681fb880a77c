//! What is drawn of what is known: entries, runs, heartbeats and news in, marks, bands and arrows out.

mod absences;
mod axis;
mod bands;
mod bounds;
mod columns;
mod coming;
mod handovers;
mod lanes;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::config::testing::config;
use crate::job::{Cause, Fence, JobName, JobSpec, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{HistoryEntry, Pausing};
use crate::store::{Beat, Peer};
use crate::time::UtcMillis;
use crate::view::testing::{NOON, node, run_id};

use super::*;

/// Two jobs; `payout` has a lease of a minute.
const FILE: &str = r#"
[cluster]
name = "billing"
store = "local"

[jobs.backup]
schedule = "*/5 * * * *"
command = ["backup"]

[jobs.payout]
schedule = "*/15 * * * *"
command = ["payout"]
lease = "1m"
"#;

/// The hash of the file that replicas have.
const HASH: &str = "3f9c21ab55555555";

/// This many seconds after noon, which is the present.
fn at(second: i64) -> UtcMillis {
    UtcMillis(NOON + second * 1_000)
}

/// The last hour before noon in UTC: a unit is four seconds.
fn hour() -> TimeWindow {
    TimeWindow::of(at(0), TimelineSpan::Hour, TimeZone::UTC)
}

/// What is known.
#[derive(Debug)]
struct Known {
    specs: Vec<Arc<JobSpec>>,
    past: Vec<(JobName, HistoryEntry)>,
    running: Vec<CurrentRun>,
    pausing: Vec<(JobName, Pausing)>,
    usual: Option<Duration>,
    read_from: Vec<(JobName, UtcMillis)>,
    peers: Vec<Peer>,
    news: Vec<TimelineNews>,
}

impl Known {
    /// Two replicas that live, and nothing else.
    fn nothing() -> Self {
        Self::of(FILE)
    }

    fn of(file: &str) -> Self {
        let specs = config(file).jobs.into_values().collect();
        let peers = vec![peer("node-a", 0), peer("node-b", -1)];
        Self {
            specs,
            past: Vec::new(),
            running: Vec::new(),
            pausing: Vec::new(),
            usual: None,
            read_from: Vec::new(),
            peers,
            news: Vec::new(),
        }
    }

    /// Adds entries of a job.
    fn with(mut self, job: &str, entries: impl IntoIterator<Item = HistoryEntry>) -> Self {
        self.past.extend(entries.into_iter().map(|entry| (job.parse().expect("a name"), entry)));
        self
    }

    /// Notes that the history of a job was read back to this second.
    fn read_from(mut self, job: &str, second: i64) -> Self {
        self.read_from.push((job.parse().expect("a name"), at(second)));
        self
    }

    /// Adds what a replica told at a second.
    fn told(mut self, name: &str, second: i64, what: NewsKind) -> Self {
        self.news.push(TimelineNews { node: node(name), at: at(second), what });
        self
    }

    fn drawn(&self, window: &TimeWindow, order: LaneOrder) -> Picture {
        let past: Vec<PastTick<'_>> = self.past.iter().map(|(job, entry)| PastTick { job, entry }).collect();
        let pausing =
            |name: &JobName| self.pausing.iter().find(|(job, _)| job == name).map(|(_, it)| it.clone());
        let read_from =
            |name: &JobName| self.read_from.iter().find(|(job, _)| job == name).map(|(_, at)| *at);
        let jobs: Vec<TimelineJob<'_>> = self
            .specs
            .iter()
            .map(|spec| TimelineJob {
                name: &spec.name,
                spec: Some(spec),
                pausing: pausing(&spec.name),
                usual: self.usual,
                read_from: read_from(&spec.name),
            })
            .collect();
        let facts = TimelineFacts {
            past: &past,
            running: &self.running,
            jobs: &jobs,
            peers: &self.peers,
            news: &self.news,
            file: Some(HASH),
        };
        Picture::of(&facts, window, order)
    }

    /// The last hour, by replica.
    fn by_replica(&self) -> Picture {
        self.drawn(&hour(), LaneOrder::ByReplica)
    }

    /// The last hour, by job.
    fn by_job(&self) -> Picture {
        self.drawn(&hour(), LaneOrder::ByJob)
    }
}

/// A replica with its last heartbeat at this second.
fn peer(name: &str, second: i64) -> Peer {
    let beat = Beat::of(node(name), run_id(90), HASH.to_owned(), at(-7_200));
    Peer { at: at(second), beat }
}

/// A run on a replica from one second to another, whose tick is when it began.
fn ran(on: &str, from: i64, to: i64, outcome: Outcome) -> HistoryEntry {
    let tick = Tick(at(from));
    HistoryEntry {
        run: Some(RunId::new()),
        node: Some(node(on)),
        fence: Some(Fence(18)),
        attempt: Some(1),
        started: Some(at(from)),
        ..HistoryEntry::without_run(tick, Cause::Schedule, Verdict::plain(outcome), at(to))
    }
}

/// A tick that did not run.
fn absent(second: i64, outcome: Outcome, reason: Reason) -> HistoryEntry {
    let verdict = Verdict::because(outcome, reason);
    HistoryEntry::without_run(Tick(at(second)), Cause::Schedule, verdict, at(second))
}

/// A current run that began at this second.
fn current(job: &str, on: &str, second: i64) -> CurrentRun {
    CurrentRun {
        job: job.parse().expect("a name"),
        run: RunId::new(),
        node: node(on),
        tick: Tick(at(second)),
        fence: Fence(19),
        cause: Cause::Schedule,
        started: at(second),
        last_alive: at(0),
        is_live: true,
        lease_ends: at(30),
    }
}

/// The marks that are not ticks to come.
fn present(picture: &Picture) -> Vec<&TimelineMark> {
    picture.marks.iter().filter(|mark| !matches!(mark.shape, MarkShape::Coming { .. })).collect()
}

/// The lane, the place and the width of each mark that is no tick to come.
fn places(picture: &Picture) -> Vec<(usize, u16, u16)> {
    present(picture).iter().map(|mark| (mark.lane, mark.x, mark.width)).collect()
}

/// The names of the lanes.
fn names(picture: &Picture) -> Vec<&str> {
    picture.lanes.iter().map(|lane| lane.name.as_str()).collect()
}

/// The name of a replica.
fn named(number: usize) -> NodeName {
    node(&format!("node-{number:03}"))
}
