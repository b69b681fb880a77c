//! Which live replica claims first: they are ranked anew for each tick, so that none of them wins everything and not all of
//! them claim at once. Safety never depends on this.

use std::time::Duration;

use crate::job::{JobSpec, NodeName, Tick};

use super::{Member, Roster};

/// Rank r claims r times this after the instant: longer than a claim takes, and short enough that a dead replica of
/// the first rank costs no noticeable delay.
pub(super) const STAGGER: Duration = Duration::from_millis(20);

/// Each further tick that is due at the same time makes a replica slower by about this, so the ranks are spread by as
/// much. Otherwise the first replica to get to a tick would take the others' ticks too.
const PER_TICK: Duration = Duration::from_micros(200);

/// The longest delay between two ranks: however many ticks are due, those of a dead replica are not later than this.
pub(super) const MAX_STEP: Duration = Duration::from_millis(200);

/// How long a replica that lost a run leaves its rerun to others: they learn of it with their next heartbeat.
const HEAD_START: Duration = Duration::from_secs(3);

/// Ranks beyond this claim together: the last of many replicas must not be late.
pub(super) const MAX_STAGGERED: u32 = 4;

impl Roster {
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

    /// Returns how long this replica leaves a rerun to the others: not at all, unless it lost the run itself and
    /// another replica is fit for the job.
    pub fn head_start(&self, spec: &JobSpec, cut_short_by: Option<&NodeName>) -> Duration {
        let is_left = cut_short_by == Some(&self.me.node);
        let has_others = self.others.iter().any(|other| other.is_fit_for(spec));
        if is_left && has_others { HEAD_START } else { Duration::ZERO }
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
