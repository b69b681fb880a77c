//! The start of a replica among others. If the store has just gone back to an older state, only replicas that
//! remember more can detect that, with their next heartbeat: a replica that joins them takes no ticks before it.
//! Pure.

use std::time::Duration;

use crate::job::NodeName;
use crate::store::Peer;
use crate::time::{BootInstant, UtcMillis};

/// Heartbeats come every second: a replica that has sent none for this long may be dead, and is not waited for.
const LIMIT: Duration = Duration::from_millis(1_500);

/// Which replicas have to send a heartbeat before this one takes ticks.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    first: Option<First>,
    over: bool,
}

/// What the first heartbeat brought back.
#[derive(Debug)]
struct First {
    at: BootInstant,
    /// The replicas that have not sent a heartbeat since then, and when they sent their last one.
    awaited: Vec<(NodeName, UtcMillis)>,
}

impl Joining {
    /// Takes in what a heartbeat brought back at `now`.
    pub(super) fn learn(&mut self, me: &NodeName, peers: &[Peer], now: BootInstant) {
        let others = || peers.iter().filter(|peer| peer.beat.node != *me && !peer.beat.draining);
        let first = self.first.get_or_insert_with(|| First {
            at: now,
            awaited: others().map(|peer| (peer.beat.node.clone(), peer.at)).collect(),
        });
        first.awaited.retain(|(node, at)| others().any(|peer| peer.beat.node == *node && peer.at == *at));
        self.over |= first.awaited.is_empty() || now.since(first.at) >= LIMIT;
    }

    /// Whether this replica may take ticks.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use crate::replica::cluster::roster::tests::peer;

    use super::*;

    /// Whether joining is over after each of these exchanges: its second, and when each replica had sent its last
    /// heartbeat.
    fn course(beats: &[(u64, &[(&str, i64)])]) -> Vec<bool> {
        let me = NodeName::parse("me").expect("a name");
        let mut joining = Joining::default();
        let mut learn = |&(second, peers): &(u64, &[(&str, i64)])| {
            let peers: Vec<Peer> = peers.iter().map(|(node, at)| peer(node, *at)).collect();
            joining.learn(&me, &peers, BootInstant(Duration::from_secs(second)));
            joining.is_over()
        };
        beats.iter().map(&mut learn).collect()
    }

    #[test]
    fn a_replica_takes_ticks_once_every_other_has_been_heard_from() {
        assert_eq!(course(&[(0, &[("me", 1)])]), [true], "nobody else is there");
        assert_eq!(course(&[(0, &[("a", 1), ("b", 2)]), (1, &[("a", 3), ("b", 4)])]), [false, true]);
        assert_eq!(course(&[(0, &[("a", 1), ("b", 2)]), (1, &[("a", 3)])]), [false, true], "b is forgotten");
        let dead: &[(&str, i64)] = &[("a", 1)];
        assert_eq!(course(&[(0, dead), (1, dead), (2, dead), (3, dead)]), [false, false, true, true]);
    }
}
