//! Who is alive, and who asks first: the replicas are ranked anew for each tick, so that none of them wins everything
//! and not all of them ask at once. Safety never rests on this.

use std::collections::HashSet;
use std::time::Duration;

use crate::job::{JobName, JobSpec, Label, NodeName, Reason, Tick};
use crate::replica::tick::eligibility::Eligibility;
use crate::store::{LIVE_FOR, Peer};
use crate::time::UtcMillis;

/// Rank r asks r times this after the instant: longer than a claim takes, and short enough that a dead first-ranked
/// replica is not missed.
const STAGGER: Duration = Duration::from_millis(20);

/// With many ticks due at once, each more makes a replica slower by about this: else the first that gets to it would take
/// the others' ticks too.
const PER_TICK: Duration = Duration::from_micros(200);

/// However many are due, a dead replica's ticks are not later than this.
const MAX_STEP: Duration = Duration::from_millis(200);

/// A replica that lost a run leaves its rerun to others for this long: they hear of it with their next heartbeat.
const HEAD_START: Duration = Duration::from_secs(3);

/// Who is not heard from for so long may be dead: two heartbeats are missing. Asking in vain costs nothing but the question.
const DOUBTED_AFTER: Duration = Duration::from_millis(2_500);

/// Ranks beyond this ask together: the last of many replicas must not be late.
const MAX_STAGGERED: u32 = 4;

/// A live replica that takes ticks.
#[derive(Debug, Clone)]
struct Mate {
    node: NodeName,
    labels: Vec<Label>,
    full: bool,
}

impl Mate {
    /// Whether it carries every label that the job asks for.
    fn is_fit_for(&self, spec: &JobSpec) -> bool {
        spec.only_on.iter().all(|label| self.labels.contains(label))
    }
}

/// The live replicas of the cluster, as of the last heartbeat.
#[derive(Debug, Clone)]
pub struct Roster {
    me: Mate,
    others: Vec<Mate>,
    /// What goes on somewhere, this replica included.
    running: HashSet<JobName>,
    /// How many ticks are due at once.
    crowd: u32,
}

impl Roster {
    /// A replica that knows of no other.
    pub fn alone(me: NodeName) -> Self {
        Self {
            me: Mate { node: me, labels: Vec::new(), full: false },
            others: Vec::new(),
            running: HashSet::new(),
            crowd: 1,
        }
    }

    /// This replica carries these labels.
    pub fn carry(&mut self, labels: Vec<Label>) {
        self.me.labels = labels;
    }

    /// Whether this replica runs as much as it may at once.
    pub fn fill(&mut self, full: bool) {
        self.me.full = full;
    }

    /// So many ticks are due at once from now on.
    pub fn expect(&mut self, crowd: usize) {
        self.crowd = u32::try_from(crowd).unwrap_or(u32::MAX);
    }

    /// Those heard from lately who still take ticks.
    pub fn learn(&mut self, peers: &[Peer], now: UtcMillis) {
        let others = peers.iter().filter(|peer| self.counts(peer, now));
        let mate = |Peer { beat, .. }: &Peer| Mate {
            node: beat.node.clone(),
            labels: beat.labels.clone(),
            full: beat.full,
        };
        self.others = others.map(mate).collect();
        let heard = peers.iter().filter(|peer| now.since(peer.at) <= DOUBTED_AFTER);
        self.running = heard.flat_map(|peer| &peer.beat.running).map(|run| run.job.clone()).collect();
    }

    /// Whether a run of the job goes on, as far as heartbeats tell.
    pub fn runs(&self, job: &JobName) -> bool {
        self.running.contains(job)
    }

    /// How long this replica leaves a rerun to the others: it does not take up what was cut short by itself, unless
    /// nobody else does.
    pub fn head_start(&self, spec: &JobSpec, cut_short_by: Option<&NodeName>) -> Duration {
        let is_left = cut_short_by == Some(&self.me.node);
        let has_others = self.others.iter().any(|other| other.is_fit_for(spec));
        if is_left && has_others { HEAD_START } else { Duration::ZERO }
    }

    /// Whether it is another replica, heard from lately, that still takes ticks.
    pub(crate) fn counts(&self, peer: &Peer, now: UtcMillis) -> bool {
        now.since(peer.at) <= LIVE_FOR && !peer.beat.draining && peer.beat.node != self.me.node
    }

    /// How many replicas take ticks, this one included.
    pub fn live(&self) -> usize {
        self.others.len() + 1
    }

    /// Whether any of them may run the job.
    pub fn has_one_for(&self, spec: &JobSpec) -> bool {
        self.has(|mate| mate.is_fit_for(spec))
    }

    fn has(&self, which: impl Fn(&Mate) -> bool) -> bool {
        which(&self.me) || self.others.iter().any(which)
    }

    /// Whether this replica, which has room for the job or not, may take its ticks; if not, why nobody did, as far as
    /// can be seen.
    pub fn standing(&self, spec: &JobSpec, has_room: bool) -> Eligibility {
        let is_fit = self.me.is_fit_for(spec);
        if is_fit && has_room {
            return Eligibility::Takes;
        }
        let reason = if !self.has_one_for(spec) {
            Reason::NoReplica
        } else if self.others.iter().any(|other| other.is_fit_for(spec) && !other.full) {
            Reason::Late
        } else {
            Reason::Capacity
        };
        if is_fit { Eligibility::Full(reason) } else { Eligibility::Watches(reason) }
    }

    /// How many live replicas come before this one in what one of them is to do, the same order on each of them; without those that are out.
    pub(crate) fn turn(&self, what: &str, tick: Tick, is_out: impl Fn(&NodeName) -> bool) -> usize {
        let place = |mate: &Mate| (weight(what, tick, &mate.node), mate.node.clone());
        let mine = place(&self.me);
        self.others.iter().filter(|other| !is_out(&other.node) && place(other) > mine).count()
    }

    /// How long after the others this replica asks for the tick. Those that may run it ask first, and of them those with
    /// room.
    pub fn stagger(&self, spec: &JobSpec, tick: Tick) -> Duration {
        let weight = |mate: &Mate| weight(spec.name.as_str(), tick, &mate.node);
        let place = |mate: &Mate| (mate.is_fit_for(spec), !mate.full, weight(mate), mate.node.clone());
        let mine = place(&self.me);
        let ahead = |other: &&Mate| place(other) > mine;
        let rank = self.others.iter().filter(ahead).count();
        step(self.crowd) * u32::try_from(rank).unwrap_or(u32::MAX).min(MAX_STAGGERED)
    }
}

/// How long each rank leaves to the one before it, while so many ticks are due at once.
fn step(crowd: u32) -> Duration {
    (STAGGER + PER_TICK.saturating_mul(crowd.saturating_sub(1))).min(MAX_STEP)
}

/// Highest random weight: the same on every replica and release (FNV-1a, then mixed so that every bit counts).
fn weight(what: &str, tick: Tick, node: &NodeName) -> u64 {
    let instant = tick.as_millis().to_le_bytes();
    let bytes = what.bytes().chain([0]).chain(instant).chain([0]).chain(node.as_str().bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
pub(crate) mod tests;
