//! What a replica remembers of the store: its clock, its era, and for how long both have been steady. Pure; the
//! heartbeat feeds it.

use std::time::Duration;

use shown::TimesHeard;
use steady::{Slew, Steady};

use crate::job::{Fence, NodeName};
use crate::lease::{Caller, EARLY_TOLERANCE, Era};
use crate::store::{Peer, Slewed};
use crate::time::{BootInstant, UtcMillis};

/// The store's clock was stepped when it is off by more than this from where it should be.
const STEP: Duration = Duration::from_millis(500);

/// What the clock decides ahead of its time by a leap of less is waited for: no longer than the shortest lease.
const LEAP_MS: i64 = 5_000;

/// Without a reading for this long, the store's clock may have been stepped back and forth, and nobody saw it: while it
/// was back, a holder may have renewed a lock that looks long over since. Longer than a lost heartbeat and the next take.
const UNWATCHED: Duration = Duration::from_secs(4);

/// Clocks of two machines may drift apart by one percent.
pub(crate) const DRIFT_DIVISOR: u32 = 100;

/// The end of the year 9999, as a fencing token: the latest time of day that any clock shows.
const LAST_FENCE: Fence = Fence(253_402_300_799_999);

/// What one exchange with the store taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNews {
    /// It was the first.
    First,
    /// Nothing new.
    Steady,
    /// The store's clock was stepped.
    Stepped,
    /// The store's clock runs more than one percent too fast or too slow: it is slewed.
    Slewed,
    /// The store lives another life: every job has to be opened anew.
    NewEra,
}

/// What a replica knows of a job besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The largest lease of the job that it has seen.
    pub largest_lease: Duration,
    /// The newest mark of the job that it has seen, in any era.
    pub mark: Option<UtcMillis>,
    /// The newest mark of the job that an answer of the store has told it.
    pub answered: Option<UtcMillis>,
}

/// One reading of the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// When it was asked for, on this machine.
    pub sent: BootInstant,
    /// When the answer was there, on this machine.
    pub received: BootInstant,
    /// What the store's clock showed in between.
    pub store: UtcMillis,
}

impl ClockReading {
    /// The store's time at boot, in milliseconds, as far as this reading tells.
    pub(crate) fn origin(self) -> i64 {
        let middle = self.sent.plus(self.received.since(self.sent) / 2);
        self.store.minus(middle.0).0
    }

    /// How far the origin may be off.
    pub(crate) fn error(self) -> Duration {
        self.received.since(self.sent) / 2
    }
}

/// A replica's memory of its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreClock {
    /// The store's time when this machine was started.
    origin: i64,
    /// How far that may be off, and when it was read.
    error: Duration,
    read: BootInstant,
    era: Era,
    heard: TimesHeard,
    /// Since when the store's clock has run steadily.
    steady: Steady,
    slew: Option<Slew>,
    /// The origin before the store's clock was stepped, until it shows that time again.
    usual: Option<i64>,
    /// The store's time from which its clock has been ahead of that.
    leapt: Option<UtcMillis>,
    /// The wall clock's origin when the two were first compared, and whether they were far apart the last time.
    wall: Option<i64>,
    were_apart: bool,
    /// When the store's clock was last looked at.
    watched: BootInstant,
    /// The largest fencing token of any job that this replica or one that it hears knows of.
    largest_fence: Fence,
}

impl StoreClock {
    /// The memory after a first reading.
    pub fn first(reading: ClockReading, era: Era) -> Self {
        Self {
            origin: reading.origin(),
            error: reading.error(),
            read: reading.received,
            era,
            heard: TimesHeard::first(reading.store),
            steady: Steady::from(reading),
            slew: None,
            usual: None,
            leapt: None,
            wall: None,
            were_apart: false,
            watched: reading.sent,
            largest_fence: Fence(0),
        }
    }

    /// Takes in another reading.
    pub fn learn(&mut self, reading: ClockReading, era: &Era) -> ClockNews {
        let off = Duration::from_millis(reading.origin().abs_diff(self.origin));
        self.heard.read(reading.store);
        let is_stepped = off > STEP + reading.error() + self.error;
        // The clock may have been ahead until this reading: ticks were decided and fences granted up to the time it showed.
        let shown = self.store_time(reading.received).plus(self.error);
        let set_back = Some(shown).filter(|_| is_stepped && reading.origin() < self.origin);
        if set_back.is_some() {
            self.heard.set_back(off);
        }
        let learned = if self.era != *era {
            // After a long outage this time is far too late: it would close ticks that nobody can have decided.
            if let Some(shown) = set_back.filter(|_| !self.is_unwatched(reading.sent)) {
                self.heard.may_have_shown(shown);
            }
            self.heard.remember();
            self.era = era.clone();
            ClockNews::NewEra
        } else if is_stepped {
            if let Some(shown) = set_back {
                self.heard.raise(shown);
            }
            ClockNews::Stepped
        } else if let Some(from) = self.steady.drifted_since(reading) {
            self.slew = Some(Slew::seen(self.slew, from, reading));
            ClockNews::Slewed
        } else {
            ClockNews::Steady
        };
        if is_stepped {
            // A small leap is over before long, whatever was decided in it. A clock that was behind and is set right does not
            // leap.
            let usual = self.usual.unwrap_or(self.origin);
            let ahead = reading.origin().saturating_sub(usual);
            self.usual = Some(usual).filter(|_| ahead.abs() >= LEAP_MS);
            let from = self.leapt.unwrap_or_else(|| UtcMillis(usual).plus(reading.received.0));
            self.leapt = Some(from).filter(|_| ahead >= LEAP_MS);
        }
        if learned != ClockNews::Steady || self.is_unwatched(reading.received) {
            self.steady = Steady::from(reading);
        } else {
            self.steady.take(reading);
        }
        self.watched = self.watched.max(reading.sent);
        // A slow answer tells less than a quick one of a while ago, until clocks may have drifted apart.
        let aged = self.error + reading.received.since(self.read) / DRIFT_DIVISOR;
        if learned != ClockNews::Steady || reading.error() <= aged {
            self.origin = reading.origin();
            self.error = reading.error();
            self.read = reading.received;
        }
        learned
    }

    /// An answer between two heartbeats showed this time: what it decided may be forgotten in the next life as well.
    pub fn hear(&mut self, store: UtcMillis) {
        self.heard.hear(store);
    }

    /// This fencing token was given out, for whichever job. One of a year that no clock shows was written by another hand: it
    /// counts for its own job alone.
    pub fn record_fence(&mut self, fence: Fence) {
        if fence <= LAST_FENCE {
            self.largest_fence = self.largest_fence.max(fence);
        }
    }

    /// Other replicas tell which fencing tokens they know of.
    pub(crate) fn hear_peers(&mut self, peers: &[Peer]) {
        peers.iter().for_each(|peer| self.record_fence(peer.beat.largest_fence));
    }

    /// The largest fencing token of any job that is known to have been given out; 0 if none.
    pub fn largest_fence(&self) -> Fence {
        self.largest_fence
    }

    /// Whether the store's clock was not looked at for too long to vouch for it.
    fn is_unwatched(&self, now: BootInstant) -> bool {
        now.since(self.watched) > UNWATCHED
    }

    /// The newest reading showed that the store forgot what this replica had told it: as good as a new life.
    pub fn distrust(&mut self, now: BootInstant) {
        self.heard.remember();
        self.steady.since = now;
    }

    /// The latest store time heard in any earlier era; 0 if none. Where a clock that was ahead has shown more than a right one shows
    /// now, what the store's clock showed last in the era before: later ticks cannot have been forgotten with that.
    pub fn earlier(&self, wall: UtcMillis, now: BootInstant) -> UtcMillis {
        self.heard.earlier(self.front(wall, now))
    }

    /// No clock that is right shows more.
    fn front(&self, wall: UtcMillis, now: BootInstant) -> UtcMillis {
        self.store_time(now).max(wall).plus(EARLY_TOLERANCE)
    }

    /// What the store's clock should show now.
    pub fn store_time(&self, now: BootInstant) -> UtcMillis {
        UtcMillis(self.origin).plus(now.0)
    }

    /// How far a wall clock that shows `wall` now is ahead of the store's, in milliseconds, and how far that may be off.
    pub fn ahead(&self, wall: UtcMillis, now: BootInstant) -> (i64, Duration) {
        (wall.0.saturating_sub(self.store_time(now).0), self.error + now.since(self.read) / DRIFT_DIVISOR)
    }

    /// Compares the clocks, as [`ahead`](Self::ahead) does. Where the wall clock was not stepped, was far from the store's clock, and
    /// agrees with it now, the store's clock was set right, and did not leap: it was behind when this replica started.
    pub(crate) fn compare(&mut self, wall: UtcMillis, now: BootInstant) -> (i64, Duration) {
        let origin = wall.minus(now.0).0;
        let (ahead_ms, error) = self.ahead(wall, now);
        self.heard.look(self.front(wall, now));
        let agree = Duration::from_millis(ahead_ms.unsigned_abs()) <= STEP + error;
        let is_steady = Duration::from_millis(origin.abs_diff(*self.wall.get_or_insert(origin))) <= STEP;
        if self.were_apart && agree && is_steady {
            (self.usual, self.leapt) = (None, None);
        }
        self.were_apart = ahead_ms.abs() >= LEAP_MS || self.were_apart && !agree;
        (ahead_ms, error)
    }

    /// How the store's clock is slewed, while it is.
    pub fn slewed(&self, now: BootInstant) -> Option<Slewed> {
        self.slew.as_ref()?.told(now)
    }

    /// The store's present life.
    pub fn era(&self) -> &Era {
        &self.era
    }

    /// The latest store time heard in any earlier era, or before the store's clock was set back; 0 if none.
    pub fn heard(&self) -> UtcMillis {
        self.heard.at_most()
    }

    /// For how long the store's clock has been watched to run steadily.
    pub fn calm(&self, now: BootInstant) -> Duration {
        if self.is_unwatched(now) { Duration::ZERO } else { now.since(self.steady.since) }
    }

    /// The store's time from which its clock leapt ahead, while it is ahead.
    pub fn leapt(&self) -> Option<UtcMillis> {
        self.leapt
    }

    /// What goes along with a request sent now.
    pub fn caller(&self, node: &NodeName, now: BootInstant, job: Known) -> Caller {
        Caller {
            node: node.clone(),
            expect: self.store_time(now),
            era: self.era.clone(),
            calm: self.calm(now),
            heard: self.heard(),
            largest_lease: job.largest_lease,
            seen: job.mark,
            answered: job.answered,
            leapt: self.leapt,
            largest_fence: self.largest_fence,
        }
    }
}

mod shown;
mod steady;
#[cfg(test)]
mod tests;
