//! Which replicas are alive, what they run, and which of them may take a job's ticks.

mod claim_order;

use std::collections::HashSet;
use std::time::Duration;

use crate::job::{JobName, JobSpec, Label, NodeName, Reason};
use crate::replica::tick::eligibility::Eligibility;
use crate::store::{LIVE_FOR, Peer};
use crate::time::UtcMillis;

/// A replica without a heartbeat for this long may be dead: two are missing. If it is alive, a claim in vain is the
/// only cost.
const DOUBTED_AFTER: Duration = Duration::from_millis(2_500);

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
        let running = heard.flat_map(|peer| &peer.beat.running).filter(|run| run.end.is_none());
        self.running = running.map(|run| run.job.clone()).collect();
    }

    /// Whether a run of the job is going, as far as heartbeats show.
    pub fn runs(&self, job: &JobName) -> bool {
        self.running.contains(job)
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
}

#[cfg(test)]
pub(crate) mod tests;
