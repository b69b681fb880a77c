//! Formats instants and durations for people and programs. Programs get RFC 3339 in UTC with milliseconds, people as much
//! as they need.

use std::time::Duration;

use jiff::civil::DateTime;
use serde::{Serialize, Serializer};

use crate::job::{Schedule, Tick};
use crate::time::UtcMillis;
use crate::time::millis::millis;

/// Below this, tenths of a second matter.
const TENTHS_BELOW: Duration = Duration::from_secs(10);

/// Where the offset begins in `2026-03-29T03:00:00.000+02:00`.
const OFFSET_AT: usize = 23;

/// An instant, in JSON as `2026-11-20T12:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rfc3339(pub(crate) UtcMillis);

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// `350ms`, `1.3s`, `45s`, `3m 10s`, `3h 12m`, `2d 3h`: the two largest units; seconds and their tenths are rounded.
pub(crate) fn span(of: Duration) -> String {
    let of = match of {
        _ if of < Duration::from_secs(1) => of,
        _ if of < TENTHS_BELOW => rounded(of, 100),
        _ => rounded(of, 1_000),
    };
    let seconds = of.as_secs();
    let pair = |large: u64, small: u64, names: (&str, &str)| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 {
            format!("{whole}{}", names.0)
        } else {
            format!("{whole}{} {rest}{}", names.0, names.1)
        }
    };
    match seconds {
        0 => format!("{}ms", of.as_millis()),
        _ if of < TENTHS_BELOW => format!("{}.{}s", seconds, of.subsec_millis() / 100).replace(".0s", "s"),
        1..60 => format!("{seconds}s"),
        60..3_600 => pair(60, 1, ("m", "s")),
        3_600..86_400 => pair(3_600, 60, ("h", "m")),
        _ => pair(86_400, 3_600, ("d", "h")),
    }
}

/// Returns the duration rounded to a multiple of `to_ms`, in milliseconds.
pub(crate) fn rounded(of: Duration, to_ms: u64) -> Duration {
    Duration::from_millis(millis(of).saturating_add(to_ms / 2) / to_ms * to_ms)
}

/// `3m 10s ago`, `in 4m`, or `now` within a second.
pub(crate) fn from_now(at: UtcMillis, now: UtcMillis) -> String {
    let (past, coming) = (now.since(at), at.since(now));
    if past.max(coming) < Duration::from_secs(1) {
        "now".to_owned()
    } else if coming.is_zero() {
        format!("{} ago", span(Duration::from_secs(past.as_secs())))
    } else {
        format!("in {}", span(rounded(coming, 1_000)))
    }
}

/// `2026-11-20 12:00:00`, in UTC.
pub(crate) fn utc(at: UtcMillis) -> String {
    at.timestamp().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `Fri 2026-11-20 13:00:00 +01:00`: a tick in its job's zone.
pub(crate) fn local(schedule: &Schedule, tick: Tick) -> String {
    let text = schedule.local_text(tick);
    let civil: DateTime = text[..OFFSET_AT].parse().expect("schedules show ticks as RFC 3339");
    format!("{} {}", civil.strftime("%a %Y-%m-%d %H:%M:%S"), &text[OFFSET_AT..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_by_their_two_largest_units() {
        for (ms, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_290, "1.3s"),
            (9_960, "10s"),
            (10_900, "11s"),
            (14_990, "15s"),
            (60_000, "1m"),
            (190_000, "3m 10s"),
            (11_520_000, "3h 12m"),
            (3_600_000, "1h"),
            (183_600_000, "2d 3h"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn distances_say_their_direction() {
        let now = UtcMillis(1_000_000);
        assert_eq!(from_now(UtcMillis(1_000_500), now), "now");
        assert_eq!(from_now(UtcMillis(1_240_000), now), "in 4m");
        assert_eq!(from_now(UtcMillis(1_000_000 + 7_199_950), now), "in 2h");
        assert_eq!(from_now(UtcMillis(998_500), now), "1s ago");
    }

    #[test]
    fn a_tick_in_the_hour_that_comes_twice_shows_which_one_it_is() {
        let schedule = Schedule::parse("x", &["*/30 * * * *"], "Europe/Berlin").expect("good");
        let first: jiff::Timestamp = "2026-10-25T00:30:00Z".parse().expect("an instant");
        let first = Tick(UtcMillis::from_timestamp(first));
        let second = Tick(first.instant().plus(Duration::from_secs(3_600)));
        assert_eq!(local(&schedule, first), "Sun 2026-10-25 02:30:00 +02:00");
        assert_eq!(local(&schedule, second), "Sun 2026-10-25 02:30:00 +01:00");
    }
}
