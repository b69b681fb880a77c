//! `@every`: ticks at the multiples of a duration since the Unix epoch. They are the same on every replica and after
//! every restart, because they are not counted from the start of a process.

use std::time::Duration;

use jiff::Timestamp;

use crate::job::parse_duration;
use crate::job::schedule::error::ScheduleProblem;

use super::piece::Slice;

/// The distance between the ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    /// At least 1.
    seconds: i64,
}

impl Interval {
    /// Parses the duration after `@every`: whole seconds, at least one.
    pub(super) fn parse(duration: Slice<'_>) -> Result<Self, ScheduleProblem> {
        let read = parse_duration(duration.text)
            .map_err(|error| duration.slice(error.span).problem(error.message, error.help))?;
        if read.subsec_nanos() != 0 || read.is_zero() {
            let message = format!("interval `{}` is not a number of whole seconds from 1 on", duration.text);
            return Err(duration.problem(message, "write at least `1s`, without `ms`"));
        }
        i64::try_from(read.as_secs()).map(|seconds| Self { seconds }).map_err(|_| {
            let message = format!("interval `{}` is longer than any calendar", duration.text);
            duration.problem(message, "write a shorter one")
        })
    }

    /// Returns the distance between the ticks.
    pub(crate) fn period(self) -> Duration {
        Duration::from_secs(self.seconds.unsigned_abs())
    }

    /// Returns the first multiple at or after an instant in whole seconds; `None` beyond jiff's calendar.
    pub(super) fn at_or_after(self, from: Timestamp) -> Option<Timestamp> {
        let passed = from.as_second().rem_euclid(self.seconds);
        let left = if passed == 0 { 0 } else { self.seconds - passed };
        Timestamp::from_second(from.as_second().checked_add(left)?).ok()
    }

    /// Returns the last multiple at or before an instant; `None` before jiff's calendar.
    pub(super) fn at_or_before(self, from: Timestamp) -> Option<Timestamp> {
        Timestamp::from_second(from.as_second() - from.as_second().rem_euclid(self.seconds)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(text: &str) -> Interval {
        Interval::parse(Slice::whole(text)).expect(text)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    #[test]
    fn ticks_are_multiples_since_the_epoch_on_both_sides_of_it() {
        let interval = every("1m30s");
        for (from, after, before) in [
            (0, 0, 0),
            (1, 90, 0),
            (89, 90, 0),
            (90, 90, 90),
            (-1, 0, -90),
            (-90, -90, -90),
            (-91, -90, -180),
        ] {
            assert_eq!(interval.at_or_after(at(from)), Some(at(after)), "{from}");
            assert_eq!(interval.at_or_before(at(from)), Some(at(before)), "{from}");
        }
    }

    #[test]
    fn an_interval_longer_than_the_calendar_has_its_tick_at_the_epoch_alone() {
        let interval = every("99999999d");
        assert_eq!(interval.at_or_after(at(-5)), Some(at(0)));
        assert_eq!(interval.at_or_after(at(5)), None);
        assert_eq!(interval.at_or_before(at(5)), Some(at(0)));
        assert_eq!(interval.at_or_before(at(-5)), None);
    }

    #[test]
    fn every_refused_interval_says_where_what_and_the_way_out() {
        let whole_seconds = "write at least `1s`, without `ms`";
        let cases = [
            ("500ms", 0..5, "interval `500ms` is not a number of whole seconds from 1 on", whole_seconds),
            ("0s", 0..2, "interval `0s` is not a number of whole seconds from 1 on", whole_seconds),
            ("1h5x", 3..4, "duration `1h5x` has an unknown unit `x`", "the units are w, d, h, m, s and ms"),
        ];
        for (text, span, message, help) in cases {
            let problem = Interval::parse(Slice::whole(text)).expect_err(text);
            assert_eq!(problem, ScheduleProblem { span, message: message.into(), help: help.into() });
        }
    }
}
