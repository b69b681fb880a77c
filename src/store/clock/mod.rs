//! What a replica knows about the store's clock and era, and for how long both have been steady. Pure; each heartbeat adds
//! a reading.

use std::time::Duration;

use shown::TimesHeard;
use steady::{Slew, Steady};

use crate::job::{Fence, NodeName};
use crate::lease::{Caller, EARLY_TOLERANCE, Era, Protection};
use crate::store::{Peer, Slewed};
use crate::time::{BootInstant, UtcMillis};

/// The store's clock was stepped if it is off from its expected time by more than this.
const STEP: Duration = Duration::from_millis(500);

/// A forward step of less than this, in milliseconds, is no leap: the ticks that it decided ahead of their time come within
/// the shortest lease, and are waited for.
const LEAP_MS: i64 = 5_000;

/// Without a reading for this long, the store's clock may have been stepped back and forth unnoticed. While it was back, a
/// holder may have renewed a lock that now seems to have ended long ago. Longer than it takes to lose one heartbeat and
/// receive the next.
const UNWATCHED: Duration = Duration::from_secs(4);

/// The clocks of two machines may drift apart by 1 %, one part in this many.
pub(crate) const DRIFT_DIVISOR: u32 = 100;

/// The end of the year 9999 as a fencing token: no clock shows a later time.
const LAST_FENCE: Fence = Fence(253_402_300_799_999);

/// What a reading shows about the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNews {
    /// It was the first reading.
    First,
    /// Nothing new.
    Steady,
    /// The store's clock was stepped.
    Stepped,
    /// The store's clock runs more than one percent too fast or too slow: it is slewed.
    Slewed,
    /// The store is in a new era: every record has to be opened again.
    NewEra,
}

/// What a replica knows about one job, for its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The largest lease of the job that it has seen.
    pub largest_lease: Duration,
    /// The newest mark of the job that it has seen, in any era.
    pub mark: Option<UtcMillis>,
    /// The newest mark of the job that the store has returned.
    pub answered: Option<UtcMillis>,
}

/// One reading of the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// When it was requested, by this machine's boot clock.
    pub sent: BootInstant,
    /// When the answer arrived, by this machine's boot clock.
    pub received: BootInstant,
    /// What the store's clock showed in between.
    pub store: UtcMillis,
}

impl ClockReading {
    /// Returns the store's time at this machine's boot, in milliseconds since 1970, according to this reading.
    pub(crate) fn origin(self) -> i64 {
        let middle = self.sent.plus(self.received.since(self.sent) / 2);
        self.store.minus(middle.0).0
    }

    /// Returns how far the origin may be off.
    pub(crate) fn error(self) -> Duration {
        self.received.since(self.sent) / 2
    }
}

/// What a replica knows about the store's clock and era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreClock {
    /// The store's time at this machine's boot, in milliseconds since 1970.
    origin: i64,
    /// How far the origin may be off, and when it was read.
    error: Duration,
    read: BootInstant,
    era: Era,
    heard: TimesHeard,
    /// Since when the store's clock has run steadily.
    steady: Steady,
    slew: Option<Slew>,
    /// The origin before the store's clock was stepped; `None` while the clock is within `LEAP_MS` of it.
    usual: Option<i64>,
    /// The store's time from which its clock has been ahead of `usual`.
    leapt: Option<UtcMillis>,
    /// The wall clock's origin when the two clocks were first compared, and whether they were far apart at the last
    /// comparison.
    wall: Option<i64>,
    were_apart: bool,
    /// When the newest reading was requested.
    watched: BootInstant,
    /// The largest fencing token of any job that this replica knows, or that another replica has reported.
    largest_fence: Fence,
}

impl StoreClock {
    /// Returns what is known after a first reading.
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

    /// Adds a reading, and returns what it shows.
    pub fn learn(&mut self, reading: ClockReading, era: &Era) -> ClockNews {
        let off = Duration::from_millis(reading.origin().abs_diff(self.origin));
        self.heard.read(reading.store);
        let is_stepped = off > STEP + reading.error() + self.error;
        // The clock may have been ahead until this reading: ticks were decided and fencing tokens granted up to the time
        // that it showed.
        let shown = self.store_time(reading.received).plus(self.error);
        let set_back = Some(shown).filter(|_| is_stepped && reading.origin() < self.origin);
        if set_back.is_some() {
            self.heard.set_back(off);
        }
        let learned = if self.era != *era {
            // After a long outage this time is far too late: it would close ticks that no replica can have decided.
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
        } else if let Some(from) =
            self.steady.drifted_since(reading).filter(|_| Protection::SteadyRate.is_on())
        {
            self.slew = Some(Slew::seen(self.slew, from, reading));
            ClockNews::Slewed
        } else {
            ClockNews::Steady
        };
        if is_stepped {
            // A small leap is soon over, whatever was decided in it. A clock that was behind and returns to its usual time
            // does not leap.
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
        // A slow answer is less exact than a quick one of a while ago, until the clocks may have drifted apart by more.
        let aged = self.error + reading.received.since(self.read) / DRIFT_DIVISOR;
        if learned != ClockNews::Steady || reading.error() <= aged {
            self.origin = reading.origin();
            self.error = reading.error();
            self.read = reading.received;
        }
        learned
    }

    /// Adds a time that an answer between two heartbeats showed: what the store decided then may be forgotten in the next
    /// era, too.
    pub fn hear(&mut self, store: UtcMillis) {
        self.heard.hear(store);
    }

    /// Records a fencing token that was granted for any job. One of a year that no clock shows was not granted by solocron:
    /// it counts for its own job only.
    pub fn record_fence(&mut self, fence: Fence) {
        if fence <= LAST_FENCE {
            self.largest_fence = self.largest_fence.max(fence);
        }
    }

    /// Records the fencing tokens that other replicas report.
    pub(crate) fn hear_peers(&mut self, peers: &[Peer]) {
        peers.iter().for_each(|peer| self.record_fence(peer.beat.largest_fence));
    }

    /// Returns the largest fencing token of any job that is known to have been granted; 0 if none.
    pub fn largest_fence(&self) -> Fence {
        self.largest_fence
    }

    /// Whether the last reading is too old to rule out that the store's clock was stepped since.
    fn is_unwatched(&self, now: BootInstant) -> bool {
        now.since(self.watched) > UNWATCHED
    }

    /// Records that the newest reading showed a loss of data within the era. It is treated like a new era.
    pub fn distrust(&mut self, now: BootInstant) {
        self.heard.remember();
        self.steady.since = now;
    }

    /// Returns the latest store time received in any earlier era; 0 if none. If a clock that was ahead has shown more than
    /// a correct clock shows now, returns what the store's clock showed last in the previous era: no later tick can have
    /// been forgotten with it.
    pub fn earlier(&self, wall: UtcMillis, now: BootInstant) -> UtcMillis {
        self.heard.earlier(self.front(wall, now))
    }

    /// Returns the latest time that a correct clock shows now.
    fn front(&self, wall: UtcMillis, now: BootInstant) -> UtcMillis {
        self.store_time(now).max(wall).plus(EARLY_TOLERANCE)
    }

    /// Returns the time that the store's clock should show now.
    pub fn store_time(&self, now: BootInstant) -> UtcMillis {
        UtcMillis(self.origin).plus(now.0)
    }

    /// Returns how far a wall clock that shows `wall` now is ahead of the store's, in milliseconds, and how far that may be
    /// off.
    pub fn ahead(&self, wall: UtcMillis, now: BootInstant) -> (i64, Duration) {
        (wall.0.saturating_sub(self.store_time(now).0), self.error + now.since(self.read) / DRIFT_DIVISOR)
    }

    /// Compares the clocks, and returns what [`ahead`](Self::ahead) does. If the wall clock was not stepped, was far from
    /// the store's clock, and agrees with it now, then the store's clock was behind when this replica started, and was
    /// corrected: it did not leap.
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

    /// Returns how the store's clock is slewed; `None` while it is not.
    pub fn slewed(&self, now: BootInstant) -> Option<Slewed> {
        self.slew.as_ref()?.told(now)
    }

    /// Returns the store's era.
    pub fn era(&self) -> &Era {
        &self.era
    }

    /// Returns the latest store time received in any earlier era, or before the store's clock was set back; 0 if none.
    pub fn heard(&self) -> UtcMillis {
        self.heard.at_most()
    }

    /// Returns the calm: for how long the store's clock has been watched and has run steadily.
    pub fn calm(&self, now: BootInstant) -> Duration {
        if self.is_unwatched(now) { Duration::ZERO } else { now.since(self.steady.since) }
    }

    /// Returns the store's time from which its clock leapt ahead; `None` while it is not ahead.
    pub fn leapt(&self) -> Option<UtcMillis> {
        self.leapt
    }

    /// Returns what a request about a job must carry if it is sent now.
    pub fn caller(&self, node: &NodeName, now: BootInstant, job: Known) -> Caller {
        Caller {
            node: node.clone(),
            expect: self.store_time(now),
            era: self.era.clone(),
            calm: self.calm(now),
            latest_store_time: self.heard(),
            largest_lease: job.largest_lease,
            known_mark: job.mark,
            answered_mark: job.answered.filter(|_| Protection::AnsweredMark.is_on()),
            leapt_from: self.leapt,
            largest_fence: self.largest_fence,
        }
    }
}

pub(crate) mod shared;
mod shown;
mod steady;
#[cfg(test)]
mod tests;
