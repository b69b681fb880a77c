//! Matches six fields against civil time, where every day has 24 hours. The search jumps from match to match by bit
//! sets. It ends where jiff's calendar ends, or after one whole cycle of the calendar.

use jiff::civil::{Date, DateTime, Time};

use super::bits::Bits;
use super::day::Days;

/// Years after which the calendar repeats: a pattern that matches nothing in this many years never matches.
const CALENDAR_CYCLE: i16 = 400;

/// A set of civil times. The set of each field has a member, and all members are within the field's bounds.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// 0-59.
    pub(crate) seconds: Bits,
    /// 0-59.
    pub(crate) minutes: Bits,
    /// 0-23.
    pub(crate) hours: Bits,
    /// 1-12.
    pub(crate) months: Bits,
    /// Both day fields.
    pub(crate) days: Days,
}

/// Returns the first day of this month; `None` beyond jiff's calendar.
fn first_of(year: i16, month: u8) -> Option<Date> {
    Date::new(year, month.cast_signed(), 1).ok()
}

fn time_of(hour: u8, minute: u8, second: u8) -> Time {
    Time::constant(hour.cast_signed(), minute.cast_signed(), second.cast_signed(), 0)
}

impl Pattern {
    /// Whether it matches any date.
    pub(crate) fn is_possible(&self) -> bool {
        // These years have months of every length beginning on every day of the week.
        (2001..=2028).any(|year| {
            self.months
                .iter()
                .filter_map(|month| first_of(year, month))
                .any(|first| !self.days.in_month(first).is_empty())
        })
    }

    /// Returns the first match at or after a civil time in whole seconds.
    pub(crate) fn at_or_after(&self, from: DateTime) -> Option<DateTime> {
        if self.matches_date(from.date())
            && let Some(time) = self.time_at_or_after(from.time())
        {
            return Some(from.date().to_datetime(time));
        }
        let first = time_of(lowest(self.hours), lowest(self.minutes), lowest(self.seconds));
        Some(self.date_after(from.date())?.to_datetime(first))
    }

    /// Returns the last match at or before a civil time.
    pub(crate) fn at_or_before(&self, from: DateTime) -> Option<DateTime> {
        if self.matches_date(from.date())
            && let Some(time) = self.time_at_or_before(from.time())
        {
            return Some(from.date().to_datetime(time));
        }
        let last = time_of(highest(self.hours), highest(self.minutes), highest(self.seconds));
        Some(self.date_before(from.date())?.to_datetime(last))
    }

    fn matches_date(&self, date: Date) -> bool {
        self.months.contains(date.month().unsigned_abs())
            && self.days.in_month(date.first_of_month()).contains(date.day().unsigned_abs())
    }

    fn date_after(&self, date: Date) -> Option<Date> {
        let (mut year, mut month) = (date.year(), date.month().unsigned_abs());
        let mut from_day = date.day().unsigned_abs() + 1;
        while year - date.year() <= CALENDAR_CYCLE {
            if self.months.contains(month) {
                let first = first_of(year, month)?;
                if let Some(day) = self.days.in_month(first).at_or_above(from_day) {
                    return Date::new(year, month.cast_signed(), day.cast_signed()).ok();
                }
            }
            (year, month) = match self.months.at_or_above(month + 1) {
                Some(month) => (year, month),
                None => (year + 1, lowest(self.months)),
            };
            from_day = 1;
        }
        None
    }

    fn date_before(&self, date: Date) -> Option<Date> {
        let (mut year, mut month) = (date.year(), date.month().unsigned_abs());
        let mut below_day = date.day().unsigned_abs();
        while date.year() - year <= CALENDAR_CYCLE {
            if self.months.contains(month) {
                let first = first_of(year, month)?;
                if let Some(day) = self.days.in_month(first).below(below_day) {
                    return Date::new(year, month.cast_signed(), day.cast_signed()).ok();
                }
            }
            (year, month) = match self.months.below(month) {
                Some(month) => (year, month),
                None => (year - 1, highest(self.months)),
            };
            below_day = 32;
        }
        None
    }

    fn time_at_or_after(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = clock(from);
        if self.hours.contains(hour) {
            if self.minutes.contains(minute)
                && let Some(second) = self.seconds.at_or_above(second)
            {
                return Some(time_of(hour, minute, second));
            }
            if let Some(minute) = self.minutes.at_or_above(minute + 1) {
                return Some(time_of(hour, minute, lowest(self.seconds)));
            }
        }
        let hour = self.hours.at_or_above(hour + 1)?;
        Some(time_of(hour, lowest(self.minutes), lowest(self.seconds)))
    }

    fn time_at_or_before(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = clock(from);
        if self.hours.contains(hour) {
            if self.minutes.contains(minute)
                && let Some(second) = self.seconds.at_or_below(second)
            {
                return Some(time_of(hour, minute, second));
            }
            if let Some(minute) = self.minutes.below(minute) {
                return Some(time_of(hour, minute, highest(self.seconds)));
            }
        }
        let hour = self.hours.below(hour)?;
        Some(time_of(hour, highest(self.minutes), highest(self.seconds)))
    }
}

fn clock(time: Time) -> (u8, u8, u8) {
    (time.hour().unsigned_abs(), time.minute().unsigned_abs(), time.second().unsigned_abs())
}

fn lowest(bits: Bits) -> u8 {
    bits.at_or_above(0).expect("no field of a pattern is empty")
}

fn highest(bits: Bits) -> u8 {
    bits.at_or_below(63).expect("no field of a pattern is empty")
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
