//! Finds replicas that are missing, or differ.

use crate::job::quoted;
use crate::store::Peer;
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::{Rfc3339, from_now};

use super::{ClusterProblem, Kind};

/// Reports that fewer replicas take ticks than there should be.
pub(super) fn too_few(snapshot: &Snapshot, expected: Option<u32>, taking: usize) -> Option<ClusterProblem> {
    let expected = expected.unwrap_or(1) as usize;
    if taking >= expected.max(1) {
        return None;
    }
    let (gone, last) = (gone_last(snapshot), last_heartbeat(snapshot));
    let draining = snapshot.peers.iter().filter(|peer| snapshot.is_live(peer) && peer.beat.draining);
    let draining: Vec<&str> = draining.map(|peer| peer.beat.node.as_str()).collect();
    let down = (expected - taking).saturating_sub(draining.len());
    let (kind, message) = if taking > 0 && down > 0 {
        let who = last.map_or(String::new(), |last| format!(": {last}"));
        let drain = match draining[..] {
            [] => String::new(),
            _ => format!("; draining: {}", draining.join(", ")),
        };
        let are = if down == 1 { "is" } else { "are" };
        (Kind::TooFewReplicas, format!("{down} of {expected} replicas {are} down{who}{drain}"))
    } else if taking > 0 {
        let nodes = draining.join(", ");
        (Kind::TooFewReplicas, format!("{taking} of {expected} replicas take ticks; draining: {nodes}"))
    } else if !draining.is_empty() {
        let message =
            "all live replicas are draining: no job starts until another replica is started".to_owned();
        (Kind::NoReplica, message)
    } else {
        let last = last.unwrap_or("no heartbeat within the last hour".to_owned());
        (Kind::NoReplica, format!("no live replica, no job runs: {last}; start one with `solocron run`"))
    };
    let since = gone.filter(|_| draining.is_empty()).map(|peer| Rfc3339(peer.at));
    Some(ClusterProblem { since, ..ClusterProblem::of_cluster(kind, message) })
}

/// Returns the replica with the newest heartbeat of those that are not live.
fn gone_last(snapshot: &Snapshot) -> Option<&Peer> {
    snapshot.peers.iter().filter(|peer| !snapshot.is_live(peer)).max_by_key(|peer| peer.at)
}

/// `n1, last heartbeat 3m ago`, or `n1, stopped 3m ago` if it was drained, for the replica with the newest heartbeat of those that are not live.
pub(super) fn last_heartbeat(snapshot: &Snapshot) -> Option<String> {
    let gone = gone_last(snapshot)?;
    let what = if gone.beat.draining { "stopped" } else { "last heartbeat" };
    Some(format!("{}, {what} {}", gone.beat.node, from_now(gone.at, snapshot.ages_to)))
}

/// Reports live replicas that differ in something they should agree on, and what to do about it.
pub(super) fn mixed(
    live: &[&Peer],
    kind: Kind,
    how: &str,
    cure: &str,
    what: impl Fn(&Peer) -> &str,
) -> Option<ClusterProblem> {
    let mut groups: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for peer in live {
        groups.entry(what(peer)).or_default().push(peer.beat.node.as_str());
    }
    if groups.len() < 2 {
        return None;
    }
    let groups: Vec<String> =
        groups.iter().map(|(value, nodes)| format!("{} ({})", nodes.join(", "), quoted(value))).collect();
    let message = format!("live replicas {how}: {}; {cure}", groups.join(" and "));
    Some(ClusterProblem::of_cluster(kind, message))
}

/// Reports two replicas with the same name: each overwrites the other's heartbeat.
pub(super) fn name_taken(peer: &Peer) -> Option<ClusterProblem> {
    let node = peer.beat.name_taken.then_some(&peer.beat.node)?;
    let message = format!(
        "two replicas are named {node}, and only one of them is shown: give each a name of its own, with `--node` or SOLOCRON_NODE"
    );
    Some(ClusterProblem { node: Some(node.clone()), ..ClusterProblem::of_cluster(Kind::NameTaken, message) })
}
