//! Finds clocks that are wrong, as live replicas report them.

use std::time::Duration;

use crate::store::{Peer, Slewed};
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::{Rfc3339, from_now, span, utc};

use super::{ClusterProblem, Kind};

/// Millionths in a tenth of a percent.
const PPM_PER_TENTH: u64 = 1_000;

/// Reports a live replica whose clock is off by more than the time over which replicas spread their claims.
pub(super) fn clock_differs(peer: &Peer) -> Option<ClusterProblem> {
    let (node, ahead_ms) = (&peer.beat.node, peer.beat.ahead_ms?);
    let off = span(Duration::from_millis(ahead_ms.unsigned_abs()));
    let side = if ahead_ms > 0 { "ahead of" } else { "behind" };
    let message = format!("the clock of {node} is {off} {side} the store's; check NTP on both machines");
    Some(ClusterProblem {
        node: Some(node.clone()),
        ..ClusterProblem::of_cluster(Kind::ClockDiffers, message)
    })
}

/// Reports a slewed clock of the store, once for all replicas that see it. Only if all live replicas see it, the store's
/// clock must be the cause.
pub(super) fn clock_slewed(live: &[&Peer], snapshot: &Snapshot) -> Option<ClusterProblem> {
    let seen: Vec<(&Peer, Slewed)> =
        live.iter().filter_map(|peer| Some((*peer, peer.beat.slewed?))).collect();
    let (first, slewed) = seen.iter().min_by_key(|(_, slewed)| slewed.since)?;
    let tenths = slewed.faster_ppm.unsigned_abs() / PPM_PER_TENTH;
    let how = if slewed.faster_ppm < 0 { "slow" } else { "fast" };
    let nodes: Vec<&str> = seen.iter().map(|(peer, _)| peer.beat.node.as_str()).collect();
    let whose = match seen.len() == live.len() {
        true => "the store's clock is slewed".to_owned(),
        false => format!("the store's clock, or that of {}, is slewed", nodes.join(", ")),
    };
    // Any client that can write to the store may have set this value.
    let since = Some(slewed.since).filter(|since| since.0 > 0 && *since <= snapshot.now);
    let begun = since.map_or(String::new(), |since| {
        format!(" since {} UTC ({})", utc(since), from_now(since, snapshot.ages_to))
    });
    let message = format!(
        "{whose}: measured by {}, it runs {}.{} % too {how}{begun}. Until it has been steady for one lease, jobs of dead replicas \
         are not taken over, and jobs with a mark in the future do not run; all other jobs run. Wait until NTP has corrected the clock; if you cannot wait, use \
         `solocron unlock JOB`",
        first.beat.node,
        tenths / 10,
        tenths % 10,
    );
    Some(ClusterProblem {
        since: since.map(Rfc3339),
        ..ClusterProblem::of_cluster(Kind::ClockSlewed, message)
    })
}
