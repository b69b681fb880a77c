//! The heartbeat: once a second, and whenever it is requested, it reports to the store what this replica does, and
//! brings back what the store knows.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::replica::core::Core;
use crate::store::clock::StoreClock;
use crate::store::{Beat, Pulse, Store, StoreError, Told};
use crate::time::{BootInstant, Clock, UtcMillis};

/// The interval between two heartbeats.
pub(crate) const BEAT_EVERY: Duration = Duration::from_secs(1);

/// One exchange of heartbeats.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// When it was sent.
    pub(crate) sent: BootInstant,
    /// When the answer was received.
    pub(crate) received: BootInstant,
    /// What the wall clock showed at `received`.
    pub(crate) wall: UtcMillis,
    pub(crate) result: Result<Pulse, StoreError>,
}

/// What the heartbeat task needs.
pub(crate) struct Heartbeat {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// What the heartbeat reports.
    pub(crate) beat: watch::Receiver<Beat>,
    /// Requests a heartbeat at once.
    pub(crate) beat_now: Arc<Notify>,
    /// Where the exchanges are sent; one that has not been taken yet delays the next.
    pub(crate) exchanges: mpsc::Sender<Exchange>,
}

impl Heartbeat {
    /// Sends heartbeats until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // A connection that is still being made is no outage; if it cannot be made, the first heartbeat shows it.
        let _ = self.store.ready().await;
        let mut ticks = interval(BEAT_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
                () = self.beat_now.notified() => {}
            }
            let beat = Beat { told: told.clone(), ..self.beat.borrow().clone() };
            let sent = self.clock.boot();
            let result = self.store.pulse(Some(&beat)).await;
            if let Ok(Pulse { count, era, marker: Some(marker), .. }) = &result {
                told = Some(Told { count: *count, era: era.clone(), marker: marker.clone() });
            }
            let (received, wall) = (self.clock.boot(), self.clock.utc());
            if self.exchanges.send(Exchange { sent, received, wall, result }).await.is_err() {
                return;
            }
        }
    }
}

impl Core {
    /// Changes what this replica reports of itself to the others: by `also`, and to its present state.
    pub(crate) fn update_beat(&mut self, also: impl FnOnce(&mut Beat)) {
        let now = self.at.boot;
        let reported = |store_clock: &StoreClock| (store_clock.slewed(now), store_clock.largest_fence());
        let (slewed, largest_fence) = self.store_clock.read(reported).unwrap_or_default();
        also(&mut self.beat);
        self.beat.ahead_ms = self.health.clock_skew.ahead_ms();
        self.beat.slewed = slewed;
        self.beat.largest_fence = largest_fence;
        self.beat.draining = self.draining;
        self.beat.full = self.capacity.is_full();
        self.beat.name_taken = self.health.is_name_taken(now);
        self.is_beat_changed = true;
    }
}
