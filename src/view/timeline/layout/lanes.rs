//! Which lanes a timeline has, and in which one a tick stands.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::job::{JobName, NodeName, Verdict};
use crate::store::{LIVE_FOR, Peer};
use crate::time::UtcMillis;
use crate::view::text::reason::verdict_in_words;
use crate::view::text::short_text::short_hash;
use crate::view::timeline::facts::{LaneOrder, TimelineFacts, TimelineJob};
use crate::view::timeline::picture::{Lane, LaneKind};
use crate::view::timeline::ticks::TimelineRun;
use crate::view::timeline::window::TimeWindow;

use super::Draft;

/// At most so many replicas, or jobs, have lanes.
const MOST_LANES: usize = 40;

/// The lanes of a timeline.
#[derive(Debug)]
pub(in crate::view::timeline) struct LanePlan<'a> {
    pub(in crate::view::timeline) lanes: Vec<Lane>,
    replicas: BTreeMap<&'a NodeName, usize>,
    jobs: BTreeMap<&'a JobName, usize>,
    /// The lane of what did not run.
    absences: Option<usize>,
}

impl<'a> LanePlan<'a> {
    /// Returns the lanes in this order.
    pub(in crate::view::timeline) fn of(
        facts: &TimelineFacts<'a>,
        runs: &[TimelineRun<'a>],
        order: LaneOrder,
        window: &TimeWindow,
    ) -> Self {
        match order {
            LaneOrder::ByReplica => Self::by_replica(facts, runs, window),
            LaneOrder::ByJob => Self::by_job(facts, window),
        }
    }

    /// Returns a lane for each replica that was heard of or ran something, by name, and one for what did not
    /// run.
    fn by_replica(facts: &TimelineFacts<'a>, runs: &[TimelineRun<'a>], window: &TimeWindow) -> Self {
        let peers: BTreeMap<&NodeName, &Peer> =
            facts.peers.iter().map(|peer| (&peer.beat.node, peer)).collect();
        // The last sign of each replica: its last heartbeat, or the end of its last run.
        let mut heard: BTreeMap<&'a NodeName, UtcMillis> =
            facts.peers.iter().map(|peer| (&peer.beat.node, peer.at)).collect();
        for run in runs {
            let last = heard.entry(run.node).or_insert(run.ended);
            *last = run.ended.max(*last);
        }
        let mut newest: Vec<(&'a NodeName, UtcMillis)> =
            heard.iter().map(|(node, at)| (*node, *at)).collect();
        // Those that are heard of get no other order than that of their names: lanes must not jump.
        newest.sort_by_key(|(node, at)| {
            (!peers.get(node).is_some_and(|peer| is_live(peer, window)), Reverse(*at), *node)
        });
        let shown: BTreeSet<&NodeName> = newest.iter().take(MOST_LANES).map(|(node, _)| *node).collect();
        let mut lanes: Vec<Lane> = Vec::new();
        let mut replicas: BTreeMap<&NodeName, usize> = BTreeMap::new();
        for node in &shown {
            replicas.insert(node, lanes.len());
            let note = note(peers.get(node).copied(), facts.file, window);
            lanes.push(Lane::named(node.to_string(), LaneKind::Replica((*node).clone()), note));
        }
        let others = heard.len() - shown.len();
        if others > 0 {
            replicas
                .extend(heard.keys().filter(|node| !shown.contains(*node)).map(|node| (*node, lanes.len())));
            lanes.push(Lane::named(format!("{others} others"), LaneKind::OtherReplicas, None));
        }
        let absences = Some(lanes.len());
        lanes.push(Lane::named("not run".to_owned(), LaneKind::DidNotRun, Some("or to come".to_owned())));
        Self { lanes, replicas, jobs: BTreeMap::new(), absences }
    }

    /// Returns a lane for each job, in their order.
    fn by_job(facts: &TimelineFacts<'a>, window: &TimeWindow) -> Self {
        let shown = || facts.jobs.iter().take(MOST_LANES);
        let is_paused = |job: &TimelineJob<'_>| {
            let until = job.pausing.as_ref().and_then(|pausing| pausing.until);
            until.is_some_and(|until| until > window.now())
        };
        let lane = |job: &TimelineJob<'_>| {
            let note = is_paused(job).then(|| "paused".to_owned());
            Lane::named(job.name.to_string(), LaneKind::Job(job.name.clone()), note)
        };
        let lanes = shown().map(lane).collect();
        let jobs = shown().enumerate().map(|(at, job)| (job.name, at)).collect();
        Self { lanes, replicas: BTreeMap::new(), jobs, absences: None }
    }

    /// Returns the lane of a run; `None` if it is not shown.
    pub(in crate::view::timeline) fn of_run(&self, run: &TimelineRun<'_>) -> Option<usize> {
        self.replicas.get(run.node).or_else(|| self.jobs.get(run.job)).copied()
    }

    /// Returns the lane of a job's ticks that did not run, and of those to come; `None` if they are not
    /// shown.
    pub(in crate::view::timeline) fn of_absence(&self, job: &JobName) -> Option<usize> {
        self.absences.or_else(|| self.jobs.get(job).copied())
    }

    /// Returns the lane of a replica; `None` if it has none of its own.
    pub(in crate::view::timeline) fn of_replica(&self, node: &NodeName) -> Option<usize> {
        let lane = *self.replicas.get(node)?;
        self.lanes.get(lane).is_some_and(|lane| lane.kind != LaneKind::OtherReplicas).then_some(lane)
    }

    /// Returns the lane of a job; `None` if it has none of its own.
    pub(in crate::view::timeline) fn of_job(&self, job: &JobName) -> Option<usize> {
        self.jobs.get(job).copied()
    }

    /// Says in each lane what it shows.
    pub(in crate::view::timeline) fn summarize(&mut self, drafts: &[Draft<'_>]) {
        let mut counts = BTreeMap::<usize, Vec<(Option<Verdict>, u64)>>::new();
        for draft in drafts {
            let (counts, verdict) = (counts.entry(draft.lane).or_default(), draft.verdict());
            match counts.iter_mut().find(|(known, _)| *known == verdict) {
                Some((_, count)) => *count = count.saturating_add(draft.count()),
                None => counts.push((verdict, draft.count())),
            }
        }
        for (at, mut counts) in counts {
            counts.sort_by_key(|(verdict, count)| (verdict.is_none(), Reverse(*count)));
            let word = |(verdict, count): &(Option<Verdict>, u64)| match verdict {
                Some(verdict) => format!("{count} {}", verdict_in_words(*verdict)),
                None => format!("{count} coming"),
            };
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.summary = counts.iter().map(word).collect::<Vec<_>>().join(", ");
            }
        }
    }
}

impl Lane {
    fn named(name: String, kind: LaneKind, note: Option<String>) -> Self {
        Self { name, kind, rows: 1, note, summary: String::new(), columns: Vec::new() }
    }
}

/// Whether the replica has sent a heartbeat lately.
fn is_live(peer: &Peer, window: &TimeWindow) -> bool {
    window.now().since(peer.at) <= LIVE_FOR
}

/// Returns what is special about a replica: that it is silent, that it drains, that it has another jobs.toml.
fn note(peer: Option<&Peer>, file: Option<&str>, window: &TimeWindow) -> Option<String> {
    let Some(peer) = peer else { return Some("no heartbeat within the last hour".to_owned()) };
    let beat = &peer.beat;
    let silent = (!is_live(peer, window)).then(|| format!("no heartbeat since {}", window.clock(peer.at)));
    let draining = beat.draining.then(|| "draining".to_owned());
    let differs = file.is_some_and(|file| file != beat.file);
    let other = differs.then(|| format!("another file: {}", short_hash(&beat.file)));
    let all: Vec<String> = [silent, draining, other].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}
