//! Who is alive, and who asks first: the replicas are ranked anew for each tick, so that none of them wins everything
//! and not all of them ask at once. Safety never rests on this.

use std::time::Duration;

use crate::job::{JobName, NodeName, Tick, UtcMillis};
use crate::store::Peer;

/// A replica that has missed this many seconds of heartbeats is taken for dead.
pub const LIVE_FOR: Duration = Duration::from_secs(4);

/// Rank r asks r times this after the instant: longer than a claim takes, and short enough that a dead first-ranked
/// replica is not missed.
const STAGGER: Duration = Duration::from_millis(20);

/// Ranks beyond this ask together: the last of many replicas must not be late.
const MAX_STAGGERED: u32 = 4;

/// The live replicas of the cluster, as of the last heartbeat.
#[derive(Debug, Clone)]
pub struct Roster {
    me: NodeName,
    others: Vec<NodeName>,
}

impl Roster {
    /// A replica that knows of no other.
    pub fn alone(me: NodeName) -> Self {
        Self { me, others: Vec::new() }
    }

    /// Those heard from lately who still take ticks.
    pub fn learn(&mut self, peers: &[Peer], now: UtcMillis) {
        self.others = peers
            .iter()
            .filter(|peer| now.since(peer.at) <= LIVE_FOR && !peer.beat.draining && peer.beat.node != self.me)
            .map(|peer| peer.beat.node.clone())
            .collect();
    }

    /// How many replicas take ticks, this one included.
    pub fn live(&self) -> usize {
        self.others.len() + 1
    }

    /// How long after its instant this replica asks for the tick.
    pub fn stagger(&self, job: &JobName, tick: Tick) -> Duration {
        let mine = weight(job, tick, &self.me);
        let ahead = |other: &&NodeName| (weight(job, tick, other), *other) > (mine, &self.me);
        let rank = self.others.iter().filter(ahead).count();
        STAGGER * u32::try_from(rank).unwrap_or(u32::MAX).min(MAX_STAGGERED)
    }
}

/// Highest random weight: the same on every replica and release (FNV-1a, then mixed so that every bit counts).
fn weight(job: &JobName, tick: Tick, node: &NodeName) -> u64 {
    let instant = tick.as_millis().to_le_bytes();
    let bytes = job.as_str().bytes().chain([0]).chain(instant).chain([0]).chain(node.as_str().bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::RunId;
    use crate::store::Beat;

    fn name(name: &str) -> NodeName {
        NodeName::parse(name).expect("name")
    }

    fn peer(node: &str, at: i64, draining: bool) -> Peer {
        let beat = Beat {
            node: name(node),
            life: RunId::new(),
            version: "0".into(),
            file: String::new(),
            started: UtcMillis(0),
            draining,
            running: Vec::new(),
        };
        Peer { at: UtcMillis(at), beat }
    }

    fn rosters(nodes: &[&str]) -> Vec<Roster> {
        let peers: Vec<Peer> = nodes.iter().map(|node| peer(node, 0, false)).collect();
        let roster = |node: &&str| {
            let mut roster = Roster::alone(name(node));
            roster.learn(&peers, UtcMillis(0));
            roster
        };
        nodes.iter().map(roster).collect()
    }

    #[test]
    fn every_replica_agrees_who_asks_first_and_all_come_first_equally_often() {
        let rosters = rosters(&["a", "b", "c"]);
        let job = JobName::parse("pay").expect("name");
        let mut firsts = [0_u32; 3];
        for second in 0..3_000 {
            let tick = Tick::at_millis(1_700_000_000_000 + second * 1_000);
            let delays: Vec<Duration> = rosters.iter().map(|roster| roster.stagger(&job, tick)).collect();
            let mut sorted = delays.clone();
            sorted.sort();
            assert_eq!(sorted, [Duration::ZERO, STAGGER, STAGGER * 2]);
            firsts[delays.iter().position(Duration::is_zero).expect("one is first")] += 1;
        }
        assert!(firsts.iter().all(|&share| (900..=1_100).contains(&share)), "{firsts:?}");
    }

    #[test]
    fn the_silent_and_the_draining_are_left_out() {
        let mut roster = Roster::alone(name("a"));
        roster.learn(
            &[peer("a", 9_000, false), peer("b", 9_000, true), peer("c", 1_000, false)],
            UtcMillis(9_500),
        );
        assert_eq!(roster.live(), 1);
    }

    #[test]
    fn the_last_of_many_is_hardly_later() {
        let names: Vec<String> = (0..30).map(|i| format!("n{i}")).collect();
        let rosters = rosters(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let job = JobName::parse("pay").expect("name");
        let latest = rosters.iter().map(|roster| roster.stagger(&job, Tick::at_millis(0))).max();
        assert_eq!(latest, Some(STAGGER * MAX_STAGGERED));
    }
}
