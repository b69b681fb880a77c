//! The page of the replicas.

use std::time::Duration;

use askama::Template;

use crate::job::JobName;
use crate::store::Peer;
use crate::view::problems::ClusterProblem;
use crate::view::snapshot::Snapshot;
use crate::view::text::short_text::short_hash;
use crate::view::text::time_format::span;

use super::shell::{
    ElapsedTime, HtmlSentence, PageFrame, PagePart, RelativeTime, StoreSight, run_link, top_part,
};

/// At most so many runs of a replica are listed.
const MOST_RUNS: usize = 20;

/// A replica, as a line of the table.
#[derive(Debug)]
struct ReplicaLine {
    node: String,
    state: &'static str,
    is_bad: bool,
    up: Option<ElapsedTime>,
    heard: RelativeTime,
    version: String,
    file: String,
    is_other_file: bool,
    labels: String,
    late: Option<String>,
    runs: Vec<(JobName, String)>,
    more_runs: usize,
}

#[derive(Template)]
#[template(path = "replicas.html")]
struct Replicas<'a> {
    base: &'a str,
    lines: Vec<ReplicaLine>,
    messages: Vec<&'a str>,
}

/// Returns the parts of the page. `file` is the hash of the jobs.toml that the answering replica has loaded.
pub(crate) fn replicas_parts(
    frame: &PageFrame<'_>,
    snapshot: &Snapshot,
    problems: &[ClusterProblem],
    file: Option<&str>,
    store: StoreSight,
) -> Vec<PagePart> {
    let of_cluster = problems.iter().filter(|problem| problem.job.is_none());
    let replicas = Replicas {
        base: frame.base,
        lines: snapshot.peers.iter().map(|peer| line(peer, snapshot, file)).collect(),
        messages: of_cluster.map(|problem| problem.message.as_str()).collect(),
    };
    vec![top_part(frame, snapshot, problems, store), PagePart::of("replicas", &replicas)]
}

fn line(peer: &Peer, snapshot: &Snapshot, file: Option<&str>) -> ReplicaLine {
    let (beat, now, is_live) = (&peer.beat, snapshot.ages_to, snapshot.is_live(peer));
    let (state, is_bad) = match (is_live, beat.draining) {
        (true, false) if beat.full => ("full", false),
        (true, false) => ("live", false),
        (true, true) => ("draining", false),
        (false, true) => ("stopped", false),
        (false, false) => ("down", true),
    };
    let labels: Vec<&str> = beat.labels.iter().map(|label| label.as_str()).collect();
    let late = beat.stages.iter().find(|times| times.stage == "late").map(|times| {
        let [usual, worst] = [times.p50_us, times.p99_us].map(|micros| span(Duration::from_micros(micros)));
        format!("{usual} / {worst}")
    });
    // Of one that is down, only those that are not recorded yet.
    let runs: Vec<(JobName, String)> = beat
        .running
        .iter()
        .filter(|run| is_live || snapshot.is_open(run.run))
        .map(|run| (run.job.clone(), run_link(&run.job, run.run)))
        .collect();
    ReplicaLine {
        node: beat.node.to_string(),
        state,
        is_bad,
        up: is_live.then_some(ElapsedTime { since: beat.started, now }),
        heard: RelativeTime { at: peer.at, now },
        version: beat.version.clone(),
        file: short_hash(&beat.file).to_owned(),
        is_other_file: is_live && file.is_some_and(|file| file != beat.file),
        labels: labels.join(" "),
        late,
        more_runs: runs.len().saturating_sub(MOST_RUNS),
        runs: runs.into_iter().take(MOST_RUNS).collect(),
    }
}
