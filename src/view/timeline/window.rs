//! The span of time that a timeline shows, and where its instants are.

use std::str::FromStr;
use std::time::Duration;

use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::time::UtcMillis;

/// The width of a picture, in units.
pub const PICTURE_WIDTH: u16 = 1200;

/// Where the present is: the past has three quarters of the width, and the future one.
pub const NOW_X: u16 = 900;

/// The future is a third as long as the past, so that both have the same scale.
const PAST_PER_FUTURE: u32 = 3;

/// How much of the past is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimelineSpan {
    /// 15 minutes.
    QuarterHour,
    /// One hour.
    #[default]
    Hour,
    /// Six hours.
    SixHours,
    /// 24 hours.
    Day,
    /// Seven days.
    Week,
}

/// The span of time that is shown, and the zone of its times.
#[derive(Debug, Clone)]
pub struct TimeWindow {
    from: UtcMillis,
    now: UtcMillis,
    /// The instant that is drawn at the present: everything moves together, by one unit.
    drawn: UtcMillis,
    to: UtcMillis,
    zone: TimeZone,
}

impl TimelineSpan {
    /// All spans, the shortest first.
    pub const ALL: [Self; 5] = [Self::QuarterHour, Self::Hour, Self::SixHours, Self::Day, Self::Week];

    /// Returns its word in addresses and on the page.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QuarterHour => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    const fn past(self) -> Duration {
        const MINUTE: u64 = 60;
        Duration::from_secs(match self {
            Self::QuarterHour => 15 * MINUTE,
            Self::Hour => 60 * MINUTE,
            Self::SixHours => 6 * 60 * MINUTE,
            Self::Day => 24 * 60 * MINUTE,
            Self::Week => 7 * 24 * 60 * MINUTE,
        })
    }
}

impl FromStr for TimelineSpan {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let words = || Self::ALL.map(Self::as_str).join(" ");
        let found = Self::ALL.into_iter().find(|span| span.as_str() == word);
        found.ok_or_else(|| format!("`{word}` is none of: {}", words()))
    }
}

impl TimeWindow {
    /// Returns the window that shows this much before `now`, and a third as much after it.
    pub fn of(now: UtcMillis, span: TimelineSpan, zone: TimeZone) -> Self {
        let past = span.past();
        let unit = i64::try_from(past.as_millis()).unwrap_or(i64::MAX) / i64::from(NOW_X);
        let drawn = UtcMillis(now.0.div_euclid(unit) * unit);
        Self { from: drawn.minus(past), now, drawn, to: drawn.plus(past / PAST_PER_FUTURE), zone }
    }

    /// Returns the first instant that is shown.
    pub fn from(&self) -> UtcMillis {
        self.from
    }

    /// Returns the present, exactly.
    pub fn now(&self) -> UtcMillis {
        self.now
    }

    /// Returns the last instant that is shown.
    pub fn to(&self) -> UtcMillis {
        self.to
    }

    /// Returns the zone of its times.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns where an instant is, from 0 to [`PICTURE_WIDTH`]; an instant outside is at the edge. What lies within the last
    /// unit before the present is at the present.
    pub fn x(&self, at: UtcMillis) -> u16 {
        let (past, future) = (i64::from(NOW_X), i64::from(PICTURE_WIDTH - NOW_X));
        let scaled = |time: Duration, whole: Duration, units: i64| {
            let whole = whole.as_millis().max(1);
            i64::try_from(time.as_millis() * units.unsigned_abs() as u128 / whole)
                .unwrap_or(i64::MAX)
                .min(units)
        };
        let x = match at <= self.drawn {
            true => past - scaled(self.drawn.since(at), self.drawn.since(self.from), past),
            false => past + scaled(at.since(self.drawn), self.to.since(self.drawn), future),
        };
        u16::try_from(x).unwrap_or_default().min(PICTURE_WIDTH)
    }

    /// Whether something that lasted from `first` to `last` is shown at least in part.
    pub(super) fn shows(&self, first: UtcMillis, last: UtcMillis) -> bool {
        first <= self.to && last >= self.from
    }

    /// Returns the time of day in the zone of the window, with its date if that is not today's: `02:30:00`,
    /// `Fri 20 Nov 02:30:00`.
    pub fn clock(&self, at: UtcMillis) -> String {
        let (at, now) = (self.zoned(at), self.zoned(self.now));
        let format = if at.date() == now.date() { "%H:%M:%S" } else { "%a %-d %b %H:%M:%S" };
        at.strftime(format).to_string()
    }

    pub(super) fn zoned(&self, at: UtcMillis) -> Zoned {
        at.timestamp().to_zoned(self.zone.clone())
    }
}
