//! What a replica reports about itself: a new report with each exchange of heartbeats, and when it begins to drain.

use std::sync::Arc;

use crate::store::{Beat, Peer};
use crate::time::{BootInstant, UtcMillis};

use super::cluster::heartbeat::Exchange;
use super::driver::Driver;
use super::tick::claiming::Contest;

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
}

impl Driver {
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
    pub(super) fn report(&self) {
        if self.facts.receiver_count() == 0 {
            return;
        }
        let now = self.context.now();
        let active = self.contests.values().filter(|contest| !contest.is_retired());
        self.facts.send_modify(|facts| {
            facts.is_draining = self.draining;
            facts.ahead_ms = self.context.clock.utc().0.saturating_sub(now.0);
            facts.is_clock_off = self.health.clock_skew.ahead_ms().is_some();
            facts.unopened_jobs = active.filter(|contest| Contest::is_unopened(contest)).count();
            facts.beat = Some(self.beat.borrow().clone());
            facts.expected_replicas = self.health.expected;
            facts.max_running = self.capacity.limit();
        });
    }
}
