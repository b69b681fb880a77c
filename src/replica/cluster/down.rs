//! Which other replicas have stopped sending heartbeats: they may have died during a run, and survivors then see that
//! it is recorded. Silence is measured by this replica's own clock, so that a step of the store's clock makes no
//! replica look down. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::job::{JobName, NodeName, RunId};
use crate::store::Peer;
use crate::time::{BootInstant, UtcMillis};

/// A replica without a heartbeat for longer is down. A single lost or late heartbeat is no reason to report it.
const DOWN_AFTER: Duration = Duration::from_secs(5);

/// Replicas send a heartbeat every second. The lock of one that crashes is over 4.1 s later at the earliest. By then it no longer
/// counts as live, though its last heartbeat was learnt up to a second late, and a claim uses what was known a second before.
const LATELY: Duration = Duration::from_secs(2);

/// A replica that has not exchanged heartbeats with the store for longer does not know what the others have sent
/// meanwhile.
const WATCHED_WITHIN: Duration = Duration::from_secs(2);

/// The newest heartbeat of another replica.
#[derive(Debug)]
struct LastHeartbeat {
    /// When the store received it, by the store's clock.
    at: UtcMillis,
    /// The process of the replica that sent it.
    life: RunId,
    /// When this replica learnt of it.
    learnt: BootInstant,
    /// Whether an older heartbeat was seen before: that replica has been alive at the same time as this one.
    is_witnessed: bool,
    is_down: bool,
}

/// A replica that is down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Down {
    pub(crate) peer: NodeName,
    /// For how long its newest heartbeat has been known.
    pub(crate) silent: Duration,
    /// What it was running by that heartbeat.
    pub(crate) jobs: Vec<JobName>,
    /// Whether it has been alive at the same time as this replica; otherwise it may have been down long before.
    pub(crate) is_news: bool,
}

/// What an exchange of heartbeats changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DownNews {
    pub(crate) down: Vec<Down>,
    pub(crate) back: Vec<NodeName>,
    /// Whether a process of some replica ended, or may have: the replica is down, or was restarted.
    pub(crate) lives_ended: bool,
}

/// The other replicas, by their newest heartbeats.
#[derive(Debug, Default)]
pub(crate) struct DownReplicas {
    peers: BTreeMap<NodeName, LastHeartbeat>,
    /// When heartbeats were last exchanged.
    watched: Option<BootInstant>,
}

impl DownReplicas {
    /// Takes in an exchange of heartbeats.
    pub(crate) fn learn(&mut self, me: &NodeName, peers: &[Peer], now: BootInstant) -> DownNews {
        let before = self.watched.replace(now);
        let was_away = before.is_none_or(|before| now.since(before) > WATCHED_WITHIN);
        let mut news = DownNews::default();
        let others: Vec<&Peer> =
            peers.iter().filter(|peer| peer.beat.node != *me && !has_left(peer)).collect();
        self.peers.retain(|node, _| others.iter().any(|peer| peer.beat.node == *node));
        for peer in others {
            let node = &peer.beat.node;
            let life = peer.beat.life;
            let first = LastHeartbeat { at: peer.at, life, learnt: now, is_witnessed: false, is_down: false };
            let heard = self.peers.entry(node.clone()).or_insert(first);
            news.lives_ended |= std::mem::replace(&mut heard.life, life) != life;
            if heard.at != peer.at {
                let is_back = std::mem::replace(&mut heard.is_down, false);
                news.back.extend(Some(node.clone()).filter(|_| is_back && heard.is_witnessed));
                (heard.at, heard.learnt, heard.is_witnessed) = (peer.at, now, true);
            } else if was_away && !heard.is_down {
                heard.learnt = now;
            }
            let silent = now.since(heard.learnt);
            if silent > DOWN_AFTER && !heard.is_down {
                heard.is_down = true;
                news.lives_ended = true;
                let jobs = peer.beat.running.iter().map(|run| run.job.clone()).collect();
                news.down.push(Down { peer: node.clone(), silent, jobs, is_news: heard.is_witnessed });
            }
        }
        news
    }

    /// Whether a heartbeat of the replica has come just now, or may have come while this one was away.
    pub(crate) fn was_heard_lately(&self, node: &NodeName, now: BootInstant) -> bool {
        self.peers.get(node).is_some_and(|heard| now.since(heard.learnt) <= LATELY)
    }

    /// Whether the replica is down, as far as is known.
    pub(crate) fn is_down(&self, node: &NodeName) -> bool {
        self.peers.get(node).is_some_and(|heard| heard.is_down)
    }
}

/// Whether this is the last heartbeat of a replica that has drained.
fn has_left(peer: &Peer) -> bool {
    peer.beat.draining && peer.beat.running.is_empty()
}

#[cfg(test)]
mod tests {
    use crate::store::{Beat, BeatRun};

    use super::*;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).expect("a name")
    }

    fn peer(name: &str, at: i64) -> Peer {
        let life = "01890a5d-ac96-774b-bcce-b302099a8057".parse().expect("an id");
        Peer { at: UtcMillis(at), beat: Beat::of(node(name), life, "f".into(), UtcMillis(0)) }
    }

    fn running(peer: Peer) -> Peer {
        let job = JobName::parse("nightly").expect("a name");
        let running = vec![BeatRun { job, run: RunId::new(), lease_ms: 30_000, end: None }];
        Peer { beat: Beat { running, ..peer.beat }, ..peer }
    }

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(1_000 + seconds))
    }

    /// The seconds at which replica `b` was found to be down, and back. `beat` returns its heartbeat of each second,
    /// `watches` whether this replica exchanges heartbeats then.
    fn told(beat: impl Fn(u64) -> Peer, watches: impl Fn(u64) -> bool) -> (Vec<u64>, Vec<u64>) {
        let mut silence = DownReplicas::default();
        let (mut down, mut back) = (Vec::new(), Vec::new());
        for second in (0..30).filter(|second| watches(*second)) {
            let news = silence.learn(&node("a"), &[peer("a", 1), beat(second)], at(second));
            down.extend(news.down.iter().map(|_| second));
            back.extend(news.back.iter().map(|_| second));
        }
        (down, back)
    }

    #[test]
    fn a_replica_without_heartbeats_is_down_once_and_back_once() {
        let beats = |second: u64| peer("b", if !(5..20).contains(&second) { second as i64 } else { 4 });
        assert_eq!(told(beats, |_| true), (vec![10], vec![20]));
    }

    #[test]
    fn a_replica_is_heard_for_two_seconds_more_or_while_this_one_was_away() {
        let mut silence = DownReplicas::default();
        let mut heard = |beat: Peer, second| {
            silence.learn(&node("a"), &[beat], at(second));
            silence.was_heard_lately(&node("b"), at(second))
        };
        let crashed = [1, 2, 3, 4].map(|second| heard(peer("b", 1), second));
        assert_eq!(crashed, [true, true, true, false]);
        assert!(heard(peer("b", 1), 7), "it may have sent one since");
        assert!(heard(peer("b", 2), 8));
        assert!(!silence.was_heard_lately(&node("c"), at(8)));
    }

    #[test]
    fn a_step_of_the_stores_clock_silences_nobody() {
        let beats = |second: u64| peer("b", second as i64 + if second < 10 { 0 } else { 3_600_000 });
        assert_eq!(told(beats, |_| true), (vec![], vec![]));
    }

    #[test]
    fn who_was_away_from_the_store_waits_anew_for_the_others() {
        let beats = |second: u64| peer("b", second.min(4) as i64);
        assert_eq!(told(beats, |second| !(5..=12).contains(&second)).0, [19]);
        let beats = |second: u64| peer("b", if second > 13 { second as i64 } else { second.min(4) as i64 });
        assert_eq!(told(beats, |second| !(5..=12).contains(&second)), (vec![], vec![]));
    }

    #[test]
    fn a_replica_that_has_drained_is_not_down_and_one_that_died_in_its_drain_is() {
        let last = |second: u64, peer: Peer| match second {
            0..5 => Peer { at: UtcMillis(second as i64), ..peer },
            _ => Peer { at: UtcMillis(4), beat: Beat { draining: true, ..peer.beat } },
        };
        assert_eq!(told(|second| last(second, peer("b", 4)), |_| true).0, [0_u64; 0]);
        assert_eq!(told(|second| last(second, running(peer("b", 4))), |_| true).0, [10]);
    }

    #[test]
    fn a_replica_that_was_started_again_at_once_has_another_life() {
        let mut silence = DownReplicas::default();
        let again =
            |second| Peer { beat: Beat { life: RunId::new(), ..peer("b", 0).beat }, ..peer("b", second) };
        let mut ended = |beat: Peer, second| silence.learn(&node("a"), &[beat], at(second)).lives_ended;
        assert!(!ended(peer("b", 1), 1) && !ended(peer("b", 2), 2));
        let anew = again(3);
        assert!(ended(anew.clone(), 3));
        assert!(!ended(anew, 4));
    }

    #[test]
    fn what_was_down_before_this_replica_came_is_no_news() {
        let mut silence = DownReplicas::default();
        let mut down = (0..10).flat_map(|second| {
            let news = silence.learn(&node("a"), &[running(peer("b", 4))], at(second));
            news.down
        });
        let found = down.next().expect("it is down");
        assert!(!found.is_news && found.jobs.len() == 1, "{found:?}");
        assert_eq!(down.next(), None);
        drop(down);
        assert!(silence.is_down(&node("b")));
    }
}
