//! Runs that were cut short and whose job another replica ran next, and the time in between in which nobody
//! may run it.

use std::collections::BTreeMap;

use crate::job::{Fence, JobName, Outcome, Reason, RunId};
use crate::time::UtcMillis;
use crate::view::timeline::facts::{NewsKind, TimelineFacts, TimelineSpecs};
use crate::view::timeline::window::TimeWindow;

use super::TimelineRun;

/// At most so many are drawn: the newest.
const MOST: usize = 40;

/// Fencing tokens from this one on are shortened; those of a young job are small.
const LONG_FENCE: i64 = 1_000_000;

/// A run that was cut short, and what came of its lock. Runs are named by their place in the list of all
/// runs.
#[derive(Debug)]
pub(in crate::view::timeline) struct Handover {
    /// The run that was cut short.
    pub(in crate::view::timeline) cut: usize,
    /// From when until when nobody may run the job.
    pub(in crate::view::timeline) reserved: Option<(UtcMillis, UtcMillis)>,
    /// The next run of the job, on another replica.
    pub(in crate::view::timeline) next: Option<usize>,
}

/// Returns the handovers among these runs, which are in the order in which they began.
pub(in crate::view::timeline) fn handovers(
    runs: &[TimelineRun<'_>],
    facts: &TimelineFacts<'_>,
    specs: &TimelineSpecs<'_>,
) -> Vec<Handover> {
    let lost: BTreeMap<RunId, UtcMillis> = facts
        .news
        .iter()
        .filter_map(|news| match news.what {
            NewsKind::LockLost(run) => Some((run, news.at)),
            _ => None,
        })
        .collect();
    let mut by_job = BTreeMap::<&JobName, Vec<(usize, &TimelineRun<'_>)>>::new();
    for (at, run) in runs.iter().enumerate() {
        by_job.entry(run.job).or_default().push((at, run));
    }
    let of_job = |runs: &[(usize, &TimelineRun<'_>)]| {
        let following = runs.iter().skip(1).map(Some).chain([None]);
        let pairs = runs.iter().zip(following);
        pairs
            .filter_map(|((at, cut), next)| handover(*at, cut, next.copied(), &lost, specs))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<Handover> = by_job.values().flat_map(|runs| of_job(runs)).collect();
    all.sort_by_key(|handover| handover.cut);
    all.drain(..all.len().saturating_sub(MOST));
    all
}

/// Returns the handover between a run and the next one of its job; `None` if the run was not cut short, or
/// its own replica went on.
fn handover(
    at: usize,
    cut: &TimelineRun<'_>,
    next: Option<(usize, &TimelineRun<'_>)>,
    lost: &BTreeMap<RunId, UtcMillis>,
    specs: &TimelineSpecs<'_>,
) -> Option<Handover> {
    let lost_at = cut.run.and_then(|run| lost.get(&run).copied());
    if let Some(until) = cut.locked_until {
        // It is not recorded yet: the lock may still be renewed, or it ends.
        let next = next.filter(|(_, next)| next.node != cut.node).map(|(at, _)| at);
        return Some(Handover { cut: at, reserved: Some((cut.ended, until.max(cut.ended))), next });
    }
    if cut.outcome != Outcome::Interrupted && lost_at.is_none() {
        return None;
    }
    let (next_at, next) = next.filter(|(_, next)| next.node != cut.node)?;
    let lease = specs.get(cut.job).map(|spec| spec.lease);
    // A replica that shuts down releases its locks.
    let is_kept = lost_at.is_some() || cut.reason != Some(Reason::Shutdown);
    let until = lease.filter(|_| is_kept).map(|lease| cut.ended.plus(lease).min(next.started));
    let reserved = until.filter(|until| *until > cut.ended).map(|until| (cut.ended, until));
    Some(Handover { cut: at, reserved, next: Some(next_at) })
}

/// Returns the time in which nobody may run the job, in a sentence.
pub(in crate::view::timeline) fn reserved_title(
    job: &JobName,
    until: UtcMillis,
    window: &TimeWindow,
) -> String {
    format!("`{job}`: nobody may run: lease until {}", window.clock(until))
}

/// Returns a fencing token, short: `f18`, `f…241123`.
pub(in crate::view::timeline) fn fence_text(fence: Option<Fence>) -> String {
    match fence {
        Some(Fence(fence)) if fence >= LONG_FENCE => format!("f…{:06}", fence % LONG_FENCE),
        Some(fence) => format!("f{fence}"),
        None => "f?".to_owned(),
    }
}
