//! What a guest hears of its store: once a second, without a heartbeat of its own, the store's clock and life, whether
//! it still knows who holds the lock, and whether an operator wants something of it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{MissedTickBehavior, interval};

use crate::hold::context::Shop;
use crate::job::{JobName, RunId};
use crate::store::clock::{Learned, Memory, Reading};
use crate::store::{Pulse, StoreError};

/// As often as replicas beat: the wait of a lock that is new to the store counts on it.
const LISTEN_EVERY: Duration = Duration::from_secs(1);

/// A guest's ear.
#[derive(Debug)]
pub(super) struct Ear {
    shop: Arc<Shop>,
    lock: JobName,
    /// The run that holds the lock, once it does.
    run: OnceLock<RunId>,
    /// The newest notice about the lock. Exchanges take turns.
    notice: Mutex<Option<i64>>,
}

impl Ear {
    pub(super) fn new(shop: Arc<Shop>, lock: JobName) -> Self {
        Self { shop, lock, run: OnceLock::new(), notice: Mutex::default() }
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
        let Shop { store, clock, .. } = &*self.shop;
        let sent = clock.boot();
        let pulse = store.pulse(None).await?;
        let reading = Reading { sent, received: clock.boot(), store: pulse.now };
        let learned = self.learn(reading, &pulse);
        let notice = pulse.notices.iter().find(|notice| notice.job == self.lock).map(|notice| notice.stamp);
        let is_noticed = notice.is_some() && std::mem::replace(&mut *known, notice) != notice;
        Ok(is_noticed || learned == Learned::NewEra || self.is_forgotten().await?)
    }

    /// Whether the store does not know any more who holds the lock. It may call itself the same, and whoever comes next
    /// waits two seconds only for a record that is new.
    async fn is_forgotten(&self) -> Result<bool, StoreError> {
        let Some(run) = self.run.get() else { return Ok(false) };
        let records = self.shop.store.records(std::slice::from_ref(&self.lock)).await?;
        let record = records.into_iter().next().flatten();
        let is_forgotten = record.is_none_or(|record| record.run != Some(*run));
        if is_forgotten {
            self.enroll().await?;
        }
        Ok(is_forgotten)
    }

    fn learn(&self, reading: Reading, pulse: &Pulse) -> Learned {
        let mut learned = Learned::First;
        self.shop.memory.send_modify(|memory| {
            match memory {
                Some(memory) => learned = memory.learn(reading, &pulse.era),
                None => *memory = Some(Memory::first(reading, pulse.era.clone())),
            }
            memory.iter_mut().for_each(|memory| memory.hear_peers(&pulse.peers));
        });
        learned
    }

    /// Whether the cluster has ever known the lock.
    pub(super) async fn knows(&self) -> Result<bool, StoreError> {
        Ok(self.shop.store.known(std::slice::from_ref(&self.lock)).await?[0])
    }

    /// Tells the cluster of the lock: should its record vanish, whoever comes next waits a whole lease.
    pub(super) async fn enroll(&self) -> Result<(), StoreError> {
        self.shop.store.enroll(std::slice::from_ref(&self.lock)).await
    }

    /// Tells replicas to look at the lock's record: should the store forget it, they remember for how long it may be held.
    pub(super) async fn announce(&self) {
        // A store that does not answer now is in trouble, and the lock with it.
        let _ = self.shop.store.announce(&self.lock).await;
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
