//! The heartbeat: once a second, and whenever it is asked for, it tells the store what this replica does, and brings
//! back what the store knows.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::replica::driver::Driver;
use crate::store::clock::StoreClock;
use crate::store::{Beat, Pulse, Store, StoreError, Told};
use crate::time::{BootInstant, Clock, UtcMillis};

/// A replica is heard from this often.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// One exchange of heartbeats.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// When it was sent.
    pub(crate) sent: BootInstant,
    /// When the answer was there.
    pub(crate) received: BootInstant,
    /// What the wall clock showed then.
    pub(crate) wall: UtcMillis,
    /// The answer.
    pub(crate) result: Result<Pulse, StoreError>,
}

/// What the heartbeat needs.
pub(crate) struct Heartbeat {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// What to say.
    pub(crate) beat: watch::Receiver<Beat>,
    /// Beat at once.
    pub(crate) now: Arc<Notify>,
    /// Where the exchanges go; one that is not taken yet holds up the next.
    pub(crate) exchanges: mpsc::Sender<Exchange>,
}

impl Heartbeat {
    /// Beats until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // A connection that is just coming up is no outage; one that does not come up shows in the first beat.
        let _ = self.store.ready().await;
        let mut ticks = interval(BEAT_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
                () = self.now.notified() => {}
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

impl Driver {
    /// What the next heartbeat says; `also` changes what only its caller knows of.
    pub(crate) fn update_beat(&mut self, also: impl FnOnce(&mut Beat)) {
        let (draining, ahead_ms) = (self.draining, self.health.clock_skew.ahead_ms());
        let (full, name_taken) =
            (self.capacity.is_full(), self.health.is_name_taken(self.context.clock.boot()));
        let (slewed, largest_fence) = {
            let store_clock = self.context.store_clock.borrow();
            let store_clock = store_clock.as_ref();
            let slewed = store_clock.and_then(|store_clock| store_clock.slewed(self.context.clock.boot()));
            (slewed, store_clock.map(StoreClock::largest_fence).unwrap_or_default())
        };
        self.beat.send_modify(|beat| {
            also(beat);
            beat.ahead_ms = ahead_ms;
            beat.slewed = slewed;
            beat.largest_fence = largest_fence;
            beat.draining = draining;
            beat.full = full;
            beat.name_taken = name_taken;
        });
    }
}
