//! Which replicas are alive, and which one claims first: they are ranked anew for each tick, so that none of them
//! wins everything and not all of them claim at once. Safety never depends on this.

use std::collections::HashSet;
use std::time::Duration;

use crate::job::{JobName, JobSpec, Label, NodeName, Reason, Tick};
use crate::replica::tick::eligibility::Eligibility;
use crate::store::{LIVE_FOR, Peer};
use crate::time::UtcMillis;

/// Rank r claims r times this after the instant: longer than a claim takes, and short enough that a dead replica of
/// the first rank costs no noticeable delay.
const STAGGER: Duration = Duration::from_millis(20);

/// Each further tick that is due at the same time makes a replica slower by about this, so the ranks are spread by as
/// much. Otherwise the first replica to get to a tick would take the others' ticks too.
const PER_TICK: Duration = Duration::from_micros(200);

/// The longest delay between two ranks: however many ticks are due, those of a dead replica are not later than this.
const MAX_STEP: Duration = Duration::from_millis(200);

/// How long a replica that lost a run leaves its rerun to others: they learn of it with their next heartbeat.
const HEAD_START: Duration = Duration::from_secs(3);

/// A replica without a heartbeat for this long may be dead: two are missing. If it is alive, a claim in vain is the
/// only cost.
const DOUBTED_AFTER: Duration = Duration::from_millis(2_500);

/// Ranks beyond this claim together: the last of many replicas must not be late.
const MAX_STAGGERED: u32 = 4;

/// A live replica that takes ticks.
#[derive(Debug, Clone)]
struct Member {
    node: NodeName,
    labels: Vec<Label>,
    full: bool,
}

impl Member {
    /// Whether it has every label that the job requires.
    fn is_fit_for(&self, spec: &JobSpec) -> bool {
        spec.only_on.iter().all(|label| self.labels.contains(label))
    }
}

/// The live replicas of the cluster, as of the last heartbeat.
#[derive(Debug, Clone)]
pub struct Roster {
    me: Member,
    others: Vec<Member>,
    /// Jobs that are running on any replica, this one included.
    running: HashSet<JobName>,
    /// How many ticks are due at once.
    crowd: u32,
}

impl Roster {
    /// Creates the roster of a replica that knows no other.
    pub fn alone(me: NodeName) -> Self {
        Self {
            me: Member { node: me, labels: Vec::new(), full: false },
            others: Vec::new(),
            running: HashSet::new(),
            crowd: 1,
        }
    }

    /// Sets the labels of this replica.
    pub fn carry(&mut self, labels: Vec<Label>) {
        self.me.labels = labels;
    }

    /// Sets whether this replica runs as many jobs as it may.
    pub fn fill(&mut self, full: bool) {
        self.me.full = full;
    }

    /// Sets how many ticks are due at once from now on.
    pub fn expect(&mut self, crowd: usize) {
        self.crowd = u32::try_from(crowd).unwrap_or(u32::MAX);
    }

    /// Takes in the heartbeats: the others are now the replicas that sent one lately and still take ticks.
    pub fn learn(&mut self, peers: &[Peer], now: UtcMillis) {
        let others = peers.iter().filter(|peer| self.counts(peer, now));
        let mate = |Peer { beat, .. }: &Peer| Member {
            node: beat.node.clone(),
            labels: beat.labels.clone(),
            full: beat.full,
        };
        self.others = others.map(mate).collect();
        let heard = peers.iter().filter(|peer| now.since(peer.at) <= DOUBTED_AFTER);
        self.running = heard.flat_map(|peer| &peer.beat.running).map(|run| run.job.clone()).collect();
    }

    /// Whether a run of the job is going, as far as heartbeats show.
    pub fn runs(&self, job: &JobName) -> bool {
        self.running.contains(job)
    }

    /// Returns how long this replica leaves a rerun to the others: not at all, unless it lost the run itself and
    /// another replica is fit for the job.
    pub fn head_start(&self, spec: &JobSpec, cut_short_by: Option<&NodeName>) -> Duration {
        let is_left = cut_short_by == Some(&self.me.node);
        let has_others = self.others.iter().any(|other| other.is_fit_for(spec));
        if is_left && has_others { HEAD_START } else { Duration::ZERO }
    }

    /// Whether this is another replica that sent a heartbeat lately and still takes ticks.
    pub(crate) fn counts(&self, peer: &Peer, now: UtcMillis) -> bool {
        now.since(peer.at) <= LIVE_FOR && !peer.beat.draining && peer.beat.node != self.me.node
    }

    /// Returns how many replicas take ticks, this one included.
    pub fn live(&self) -> usize {
        self.others.len() + 1
    }

    /// Whether any of these replicas may run the job.
    pub fn has_one_for(&self, spec: &JobSpec) -> bool {
        self.has(|mate| mate.is_fit_for(spec))
    }

    fn has(&self, which: impl Fn(&Member) -> bool) -> bool {
        which(&self.me) || self.others.iter().any(which)
    }

    /// Returns whether this replica may take the job's ticks; `has_slot` is whether it has a slot for the job. If it
    /// may not, returns why no replica took them, as far as this one can see.
    pub fn standing(&self, spec: &JobSpec, has_slot: bool) -> Eligibility {
        let is_fit = self.me.is_fit_for(spec);
        if is_fit && has_slot {
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

    /// Returns how many live replicas come before this one in a task that one of them is to do; the order is the same
    /// on all of them. Replicas for which `is_out` holds do not count.
    pub(crate) fn turn(&self, what: &str, tick: Tick, is_out: impl Fn(&NodeName) -> bool) -> usize {
        let place = |mate: &Member| (weight(what, tick, &mate.node), mate.node.clone());
        let mine = place(&self.me);
        self.others.iter().filter(|other| !is_out(&other.node) && place(other) > mine).count()
    }

    /// Returns how long after the tick's instant this replica claims it. Replicas that may run it claim first, and of
    /// them those with a free slot.
    pub fn stagger(&self, spec: &JobSpec, tick: Tick) -> Duration {
        let weight = |mate: &Member| weight(spec.name.as_str(), tick, &mate.node);
        let place = |mate: &Member| (mate.is_fit_for(spec), !mate.full, weight(mate), mate.node.clone());
        let mine = place(&self.me);
        let ahead = |other: &&Member| place(other) > mine;
        let rank = self.others.iter().filter(ahead).count();
        step(self.crowd) * u32::try_from(rank).unwrap_or(u32::MAX).min(MAX_STAGGERED)
    }
}

/// Returns the delay between two ranks while so many ticks are due at once.
fn step(crowd: u32) -> Duration {
    (STAGGER + PER_TICK.saturating_mul(crowd.saturating_sub(1))).min(MAX_STEP)
}

/// The highest random weight decides: the same on every replica and in every release (FNV-1a, then mixed so that
/// every bit counts).
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
