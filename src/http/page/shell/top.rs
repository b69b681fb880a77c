//! The line at the top: the whole cluster in one sentence. What is well is quiet, and what is wrong stands out.

use askama::Template;

use crate::time::UtcMillis;
use crate::view::problems::{ClusterProblem, Kind};
use crate::view::snapshot::Snapshot;
use crate::view::text::short_text::short_hash;

use super::document::PageFrame;
use super::part::PagePart;
use super::times::{RelativeTime, UtcTime};

/// What is known of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreSight {
    /// It answers.
    Answers,
    /// It answers, and the board has read nothing yet.
    Reading,
    /// It has not answered since then; everything on the page is as old.
    AwaySince(UtcMillis),
    /// It does not answer, and the board has read nothing; with the time of its last answer to this replica.
    Unread(Option<UtcMillis>),
}

impl StoreSight {
    /// Whether anything was read of it.
    pub(crate) const fn is_read(self) -> bool {
        !matches!(self, Self::Reading | Self::Unread(_))
    }

    /// Whether it does not answer.
    const fn is_away(self) -> bool {
        matches!(self, Self::AwaySince(_) | Self::Unread(_))
    }
}

/// One statement about the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    text: String,
    is_bad: bool,
}

#[derive(Template)]
#[template(path = "top.html")]
struct Top<'a> {
    frame: &'a PageFrame<'a>,
    statements: Vec<Statement>,
    is_away: bool,
    /// When it answered, if it does not answer now.
    answered: Option<RelativeTime>,
    clock: UtcTime,
}

/// Returns the line at the top, from the problems of the cluster.
pub(crate) fn top_part(
    frame: &PageFrame<'_>,
    snapshot: &Snapshot,
    problems: &[ClusterProblem],
    store: StoreSight,
) -> PagePart {
    let answered = match store {
        StoreSight::Answers | StoreSight::Reading => None,
        StoreSight::AwaySince(at) => Some(at),
        StoreSight::Unread(at) => at,
    };
    let answered = answered.map(|at| RelativeTime { at, now: frame.now });
    let is_away = store.is_away();
    let statements = match store.is_read() {
        true => vec![
            replicas(snapshot, problems),
            agreement(problems, &[Kind::ClockDiffers, Kind::ClockSlewed], "clocks agree", "clocks differ"),
            files(snapshot, problems),
        ],
        false => Vec::new(),
    };
    PagePart::of("top", &Top { frame, statements, is_away, answered, clock: UtcTime(frame.now) })
}

fn has(problems: &[ClusterProblem], kinds: &[Kind]) -> bool {
    problems.iter().any(|problem| kinds.contains(&problem.kind))
}

fn agreement(problems: &[ClusterProblem], kinds: &[Kind], well: &str, bad: &str) -> Statement {
    let is_bad = has(problems, kinds);
    Statement { text: if is_bad { bad } else { well }.to_owned(), is_bad }
}

/// Says `3 of 3 replicas`: how many are live, of how many were heard within the last hour.
fn replicas(snapshot: &Snapshot, problems: &[ClusterProblem]) -> Statement {
    let live = snapshot.peers.iter().filter(|peer| snapshot.is_live(peer)).count();
    let gone = snapshot.peers.iter().filter(|peer| !snapshot.is_live(peer) && !peer.beat.draining).count();
    let is_bad = has(problems, &[Kind::TooFewReplicas, Kind::NoReplica, Kind::NameTaken]);
    Statement { text: format!("{live} of {} replicas", live + gone), is_bad }
}

/// Says `files agree 3f9c21ab`.
fn files(snapshot: &Snapshot, problems: &[ClusterProblem]) -> Statement {
    let mut statement =
        agreement(problems, &[Kind::MixedFiles, Kind::BadFile], "files agree", "files differ");
    let live = snapshot.peers.iter().find(|peer| snapshot.is_live(peer));
    if let Some(peer) = live.filter(|_| !statement.is_bad) {
        statement.text = format!("files agree: {}", short_hash(&peer.beat.file));
    }
    statement
}
