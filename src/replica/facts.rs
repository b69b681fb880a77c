//! What a replica reports about itself: a new report with each exchange of heartbeats, and when it begins to drain.

use std::sync::Arc;
use std::time::Duration;

use crate::store::{Beat, Grade, LIVE_FOR, Peer};
use crate::time::{BootInstant, Clock, UtcMillis};

use super::cluster::heartbeat::Exchange;
use super::core::Core;
use super::runtime::Runtime;
use super::tick::claiming::Contest;

/// A tick that has waited for longer than this waits for a lock: claims for it are spread over less.
const LATE: Duration = Duration::from_secs(1);

/// A replica's report about itself.
#[derive(Debug, Clone, Default)]
pub struct ReplicaFacts {
    /// Whether it takes no new ticks because it is about to end.
    pub is_draining: bool,
    /// When the store last answered a heartbeat; `None` before the first answer.
    pub answered: Option<BootInstant>,
    /// What the store's clock showed then.
    pub store_now: Option<UtcMillis>,
    /// Whether the store did not answer the last heartbeat.
    pub is_store_away: bool,
    /// How far this machine's clock is ahead of the store's, in milliseconds; negative if it is behind.
    pub ahead_ms: i64,
    /// Whether the two clocks differ so much that it is logged.
    pub is_clock_off: bool,
    /// How many jobs' records it has not opened yet: it takes no ticks of these.
    pub unopened_jobs: usize,
    /// Every replica with a heartbeat within the last hour, as of the last answer.
    pub peers: Arc<[Peer]>,
    /// Its own heartbeat; `None` before the first.
    pub beat: Option<Beat>,
    /// How many replicas the operator expects; `None`: it is not checked.
    pub expected_replicas: Option<u32>,
    /// How many runs it may have at once; `None`: any number.
    pub max_running: Option<u32>,
    /// The ticks that wait on this replica.
    pub ticks_waiting: TicksWaiting,
    /// How many locks it holds.
    pub locks_held: u64,
    /// How many findings about the store's setup keep jobs from running.
    pub concerns_error: u64,
    /// How many findings about the store's setup are warnings.
    pub concerns_warning: u64,
    /// How many guards it has: those of its runs, and those that are ready for one.
    pub guards: u64,
    /// The size of its run logs in bytes, as of the last time that old ones were deleted.
    pub run_log_bytes: u64,
    /// Whether the disk of its state folder answers and has room for run logs.
    pub is_disk_ok: bool,
}

/// The ticks that wait on a replica, by what they wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TicksWaiting {
    /// For a lock that another run holds or may hold.
    pub for_lock: u64,
    /// For an answer of the store.
    pub for_answer: u64,
    /// For a free slot of this replica.
    pub for_slot: u64,
}

impl ReplicaFacts {
    /// Returns what the store's clock shows now, as far as its last answer tells; before that, this machine's.
    pub fn store_time(&self, clock: &dyn Clock) -> UtcMillis {
        match (self.answered, self.store_now) {
            (Some(answered), Some(then)) => then.plus(clock.boot().since(answered)),
            _ => clock.utc(),
        }
    }

    /// Returns how many replicas were live when the store last answered.
    pub fn live_replicas(&self) -> usize {
        let is_live = |peer: &&Peer| self.store_now.is_some_and(|now| now.since(peer.at) <= LIVE_FOR);
        self.peers.iter().filter(is_live).count()
    }
}

impl Runtime {
    /// Takes from an exchange what the next report needs.
    pub(super) fn hear_for_report(&self, exchange: &Exchange) {
        if self.facts.receiver_count() == 0 {
            return;
        }
        self.facts.send_if_modified(|facts| {
            facts.is_store_away = exchange.result.is_err();
            if let Ok(pulse) = &exchange.result {
                facts.answered = Some(exchange.received);
                facts.store_now = Some(pulse.now);
                facts.peers = pulse.peers.iter().cloned().collect();
            }
            false
        });
    }

    /// Reports what this replica is doing now.
    pub(super) fn report_facts(&self) {
        if self.facts.receiver_count() == 0 {
            return;
        }
        self.facts.send_modify(|facts| {
            self.core.describe(facts);
            facts.guards = (self.context.guards.ready() + self.handles.len()) as u64;
            facts.run_log_bytes = self.context.logs.log_bytes();
            facts.is_disk_ok = self.context.logs.is_disk_ok();
        });
    }
}

impl Core {
    /// Writes into `facts` what the core knows.
    fn describe(&self, facts: &mut ReplicaFacts) {
        let now = self.now();
        let active: Vec<&Contest> = self.contests.values().filter(|contest| !contest.is_retired()).collect();
        facts.is_draining = self.draining;
        facts.ahead_ms = self.at.wall.0.saturating_sub(now.0);
        facts.is_clock_off = self.health.clock_skew.ahead_ms().is_some();
        facts.unopened_jobs = active.iter().filter(|contest| contest.is_unopened()).count();
        facts.ticks_waiting = TicksWaiting {
            for_lock: count(&active, |contest| contest.waits_since(now).is_some_and(|late| late > LATE)),
            for_answer: count(&active, |contest| contest.is_asking()),
            for_slot: self.capacity.waiting() as u64,
        };
        facts.locks_held = self.runs.len() as u64;
        facts.concerns_error = self.inspection.count(Grade::Error);
        facts.concerns_warning = self.inspection.count(Grade::Warning);
        facts.beat = Some(self.beat.clone());
        facts.expected_replicas = self.health.expected;
        facts.max_running = self.capacity.limit();
    }
}

fn count(contests: &[&Contest], is_it: impl Fn(&Contest) -> bool) -> u64 {
    contests.iter().filter(|contest| is_it(contest)).count() as u64
}
