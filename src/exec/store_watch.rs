//! What a guest hears of its store: once a second, without a heartbeat of its own, the store's clock and life, whether
//! it still knows who holds the lock, and whether an operator wants something of it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{MissedTickBehavior, interval};

use crate::hold::context::Context;
use crate::job::{JobName, RunId};
use crate::store::clock::{ClockNews, ClockReading, StoreClock};
use crate::store::{Pulse, StoreError};

/// As often as replicas beat: the wait of a lock that is new to the store counts on it.
const LISTEN_EVERY: Duration = Duration::from_secs(1);

/// A guest's ear.
#[derive(Debug)]
pub(super) struct StoreWatch {
    context: Arc<Context>,
    lock: JobName,
    /// The run that holds the lock, once it does.
    run: OnceLock<RunId>,
    /// The newest notice about the lock. Exchanges take turns.
    notice: Mutex<Option<i64>>,
}

impl StoreWatch {
    pub(super) fn new(context: Arc<Context>, lock: JobName) -> Self {
        Self { context, lock, run: OnceLock::new(), notice: Mutex::default() }
    }

    /// From now on, a store whose record of the lock is another run's has forgotten this one, or has given it to another.
    pub(super) fn hold(&self, run: RunId) {
        // There is one grant only.
        let _ = self.run.set(run);
    }

    /// Listens now; whether the lock is to be renewed at once, because the store may have forgotten it, or an operator
    /// has changed its record.
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

    /// Whether the store does not know any more who holds the lock. It may call itself the same, and whoever comes next
    /// waits two seconds only for a record that is new.
    async fn is_forgotten(&self) -> Result<bool, StoreError> {
        let Some(run) = self.run.get() else { return Ok(false) };
        let records = self.context.store.records(std::slice::from_ref(&self.lock)).await?;
        let record = records.into_iter().next().flatten();
        let is_forgotten = record.is_none_or(|record| record.run != Some(*run));
        if is_forgotten {
            self.enroll().await?;
        }
        Ok(is_forgotten)
    }

    fn learn(&self, reading: ClockReading, pulse: &Pulse) -> ClockNews {
        let mut learned = ClockNews::First;
        self.context.store_clock.send_modify(|store_clock| {
            match store_clock {
                Some(store_clock) => learned = store_clock.learn(reading, &pulse.era),
                None => *store_clock = Some(StoreClock::first(reading, pulse.era.clone())),
            }
            store_clock.iter_mut().for_each(|store_clock| store_clock.hear_peers(&pulse.peers));
        });
        learned
    }

    /// Whether the cluster has ever known the lock.
    pub(super) async fn knows(&self) -> Result<bool, StoreError> {
        Ok(self.context.store.known(std::slice::from_ref(&self.lock)).await?[0])
    }

    /// Tells the cluster of the lock: should its record vanish, whoever comes next waits a whole lease.
    pub(super) async fn enroll(&self) -> Result<(), StoreError> {
        self.context.store.enroll(std::slice::from_ref(&self.lock)).await
    }

    /// Tells replicas to look at the lock's record: should the store forget it, they remember for how long it may be held.
    pub(super) async fn announce(&self) {
        // A store that does not answer now is in trouble, and the lock with it.
        let _ = self.context.store.announce(&self.lock).await;
    }

    /// Listens for ever, and says when the lock is to be renewed at once. A store that does not answer is asked again.
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
