//! Watches the store for `exec` once a second, without sending heartbeats: the store's clock and era, whether its
//! record still names this run as the holder, and whether an operator has changed the record.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{MissedTickBehavior, interval};

use crate::hold::context::Context;
use crate::job::{JobName, RunId};
use crate::store::clock::{ClockNews, ClockReading, StoreClock};
use crate::store::{Pulse, StoreError};

/// As often as replicas send heartbeats: the wait for a lock that is new to the store relies on it.
const LISTEN_EVERY: Duration = Duration::from_secs(1);

/// Watches the store for one `exec`.
#[derive(Debug)]
pub(super) struct StoreWatch {
    context: Arc<Context>,
    lock: JobName,
    /// The run that holds the lock, once it is granted.
    run: OnceLock<RunId>,
    /// The newest notice about the lock. The mutex also makes exchanges run one after the other.
    notice: Mutex<Option<i64>>,
}

impl StoreWatch {
    pub(super) fn new(context: Arc<Context>, lock: JobName) -> Self {
        Self { context, lock, run: OnceLock::new(), notice: Mutex::default() }
    }

    /// From now on, a record of the lock that names another run means: the store forgot this one, or gave the lock to
    /// another.
    pub(super) fn hold(&self, run: RunId) {
        // There is only one grant.
        let _ = self.run.set(run);
    }

    /// Exchanges with the store once. Returns whether the lock has to be renewed at once: the store may have
    /// forgotten it, or an operator has changed its record.
    pub(super) async fn listen(&self) -> Result<bool, StoreError> {
        let mut known = self.notice.lock().await;
        let Context { store, clock, .. } = &*self.context;
        let sent = clock.boot();
        let pulse = store.pulse(None).await?;
        let reading = ClockReading { sent, received: clock.boot(), store: pulse.now };
        let learned = self.learn(reading, &pulse);
        let notice = pulse.notices.iter().find(|notice| notice.job == self.lock).map(|notice| notice.stamp);
        let is_noticed = notice.is_some() && std::mem::replace(&mut *known, notice) != notice;
        Ok(is_noticed || learned == ClockNews::NewEra || self.is_forgotten().await?)
    }

    /// Whether the record does not name this run as the holder any more. A store may forget without a new era, and
    /// for a record that is new to it the next claimant waits only two seconds.
    async fn is_forgotten(&self) -> Result<bool, StoreError> {
        let Some(run) = self.run.get() else { return Ok(false) };
        let record = self.context.store.record_of(&self.lock).await?;
        let is_forgotten = record.is_none_or(|record| record.run != Some(*run));
        if is_forgotten {
            self.enroll().await?;
        }
        Ok(is_forgotten)
    }

    fn learn(&self, reading: ClockReading, pulse: &Pulse) -> ClockNews {
        let mut learned = ClockNews::First;
        let mut store_clock = self.context.store_clock.lock();
        match store_clock.as_mut() {
            Some(store_clock) => learned = store_clock.learn(reading, &pulse.era),
            None => *store_clock = Some(StoreClock::first(reading, pulse.era.clone())),
        }
        store_clock.iter_mut().for_each(|store_clock| store_clock.hear_peers(&pulse.peers));
        learned
    }

    /// Whether the cluster has ever known the lock.
    pub(super) async fn knows(&self) -> Result<bool, StoreError> {
        Ok(self.context.store.known(std::slice::from_ref(&self.lock)).await?[0])
    }

    /// Registers the lock with the cluster: if its record is lost, the next claimant waits a whole lease.
    pub(super) async fn enroll(&self) -> Result<(), StoreError> {
        self.context.store.enroll(std::slice::from_ref(&self.lock)).await
    }

    /// Makes replicas read the lock's record: if the store forgets it, they remember how long it may be held.
    pub(super) async fn announce(&self) {
        // If the store does not answer now, the lock is in trouble anyway.
        let _ = self.context.store.announce(&self.lock).await;
    }

    /// Watches the store until it is dropped, and notifies `renew` when the lock has to be renewed at once. If the
    /// store does not answer, it is tried again.
    pub(super) async fn keep_listening(self: Arc<Self>, renew: Arc<Notify>) {
        let mut ticks = interval(LISTEN_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.listen().await.unwrap_or(false) {
                renew.notify_one();
            }
        }
    }
}
