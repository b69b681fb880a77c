//! True time, which no process in the simulation can read, and the clocks of machines, which run fast or slow, are
//! stepped, and are slewed.

use std::time::Duration;

use crate::time::{BootInstant, UtcMillis};

/// What true clocks show when a simulation begins: a full minute, as every tick of every schedule is in it.
const ZERO: i64 = 1_767_225_600_000;

/// Parts of a million.
const MILLION: i128 = 1_000_000;

/// True time: milliseconds since the simulation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    pub(crate) fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }

    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// What a true clock shows.
    pub(crate) fn utc(self) -> UtcMillis {
        UtcMillis(ZERO + i64::try_from(self.0).expect("simulations are short"))
    }
}

/// What a process reads from its machine's clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reads {
    pub(crate) boot: BootInstant,
    pub(crate) wall: UtcMillis,
}

/// The clocks of one machine.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When the machine was started.
    booted: Moment,
    /// How much too fast its oscillator runs, in parts of a million.
    drift: i128,
    /// Whether the wall clock drifts too, or is disciplined and only ever stepped.
    wall_drifts: bool,
    /// By how many milliseconds the wall clock was set off.
    off: i64,
    slews: Vec<Slew>,
}

/// A slew: a daemon makes all clocks of a machine run faster or slower for a while. On Linux that includes the boot
/// clock.
#[derive(Debug, Clone, Copy)]
struct Slew {
    from: Moment,
    to: Moment,
    /// In parts of a million.
    rate: i128,
}

impl Clock {
    /// A machine that has been up since before the simulation.
    pub(crate) fn new(drift: i64, wall_drifts: bool) -> Self {
        Self { booted: Moment(0), drift: drift.into(), wall_drifts, off: 0, slews: Vec::new() }
    }

    fn scaled(&self, since: Moment, at: Moment) -> i128 {
        let true_span = i128::from(at.0.saturating_sub(since.0));
        true_span + true_span * self.drift / MILLION
    }

    /// By how many milliseconds the clocks were slewed in this time.
    fn slewed(&self, since: Moment, at: Moment) -> i128 {
        let span = |slew: &Slew| slew.to.min(at).since(slew.from.max(since)).as_millis();
        self.slews.iter().map(|slew| i128::try_from(span(slew)).expect("short") * slew.rate / MILLION).sum()
    }

    pub(crate) fn reads(&self, at: Moment) -> Reads {
        Reads { boot: self.boot(at), wall: self.wall(at) }
    }

    /// `CLOCK_BOOTTIME`; it shows a minute when the machine is up.
    pub(crate) fn boot(&self, at: Moment) -> BootInstant {
        let span = self.scaled(self.booted, at) + self.slewed(self.booted, at);
        let span = u64::try_from(span).expect("clocks do not run backwards");
        BootInstant(Duration::from_millis(span + 60_000))
    }

    /// The wall clock.
    pub(crate) fn wall(&self, at: Moment) -> UtcMillis {
        let drifted = if self.wall_drifts { self.scaled(Moment(0), at) - i128::from(at.0) } else { 0 };
        let run_off = drifted + self.slewed(Moment(0), at);
        UtcMillis(at.utc().0 + self.off + i64::try_from(run_off).expect("a small drift"))
    }

    /// How far the wall clock is from true time.
    pub(crate) fn error(&self, at: Moment) -> Duration {
        Duration::from_millis(self.wall(at).0.abs_diff(at.utc().0))
    }

    /// Returns the moment at which `CLOCK_MONOTONIC_RAW` shows `later` more than it showed at `since`.
    pub(crate) fn when_unslewed(&self, since: Moment, later: Duration) -> Moment {
        let later = i128::try_from(later.as_millis()).expect("short");
        let span =
            u64::try_from(later * MILLION / (MILLION + self.drift)).expect("clocks do not run backwards");
        since.plus(Duration::from_millis(span + 1))
    }

    /// The first moment from `now` on at which the boot clock shows `target`.
    pub(crate) fn when(&self, target: BootInstant, now: Moment) -> Moment {
        let left = u64::try_from(target.since(self.boot(now)).as_millis()).expect("a short time");
        // No clock runs slower than at half its pace.
        let (mut before, mut at) = (now.0, now.0 + 2 * left);
        while before < at {
            let middle = before.midpoint(at);
            if self.boot(Moment(middle)) < target { before = middle + 1 } else { at = middle }
        }
        Moment(at)
    }

    /// Sets the wall clock this much off its present time.
    pub(crate) fn step(&mut self, by: i64) {
        self.off += by;
    }

    /// Sets the wall clock right.
    pub(crate) fn correct(&mut self, at: Moment) {
        self.slews.retain(|slew| slew.from < at);
        self.slews.iter_mut().for_each(|slew| slew.to = slew.to.min(at));
        self.off += at.utc().0 - self.wall(at).0;
    }

    /// Slews the clocks for so long, by so many parts of a million.
    pub(crate) fn slew(&mut self, now: Moment, during: Duration, rate: i64) {
        self.slews.push(Slew { from: now, to: now.plus(during), rate: rate.into() });
    }

    /// Whether they are slewed.
    pub(crate) fn is_slewed(&self, now: Moment) -> bool {
        self.slews.iter().any(|slew| slew.to > now)
    }

    /// When its machine was started.
    pub(crate) fn booted(&self) -> Moment {
        self.booted
    }

    /// The machine is started anew: its boot clock begins at its beginning.
    pub(crate) fn reboot(&mut self, at: Moment) {
        self.booted = at;
    }
}
