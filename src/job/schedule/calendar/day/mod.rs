//! Which days of a month a pattern matches: its day-of-month and day-of-week fields together. If both are given, a day
//! must match either. If one of them begins with `*` or is `?`, a day must match both, as in Vixie's cron.

use jiff::civil::Date;

use crate::job::schedule::error::ScheduleProblem;
use crate::job::schedule::parse::field::Field;
use crate::job::schedule::parse::item::{item_values, items};
use crate::job::schedule::parse::piece::Slice;
use crate::job::schedule::parse::slot::Slots;

use super::bits::Bits;

mod words;

/// Both day fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Days {
    /// Days of the month, 1-31.
    days: Bits,
    /// Days before the last of the month, from 0: `L`, `L-3`.
    before_last: Bits,
    /// The weekday nearest to each of these days, within the month: `15W`.
    nearest_weekdays: Bits,
    /// The last weekday of the month: `LW`.
    last_weekday: bool,
    /// Days of the week, Sunday is 0.
    weekdays: Bits,
    /// Per week of the month, days of the week: `5#2`.
    nth: [Bits; 5],
    /// Days of the week in the last seven days of the month: `5L`.
    last: Bits,
    /// Whether one of the fields begins with `*` or is `?`.
    starred: bool,
}

/// The length of a month and its first day of the week.
#[derive(Debug, Clone, Copy)]
struct Month {
    /// Its number of days.
    length: u8,
    /// The day of the week of its first day, Sunday is 0.
    first: u8,
}

impl Month {
    /// Returns the days of the month that fall on these days of the week.
    const fn on(self, weekdays: Bits) -> Bits {
        // Six weeks of the set side by side, shifted so that bit 1 is the first day of the month.
        let weeks = weekdays.0 * 0x0008_1020_4081;
        Bits((weeks >> self.first) << 1).and(self.all())
    }

    /// Returns all of its days.
    const fn all(self) -> Bits {
        Bits((1 << (self.length + 1)) - 2)
    }

    /// Returns the weekday nearest to a day, never in another month.
    const fn nearest_weekday(self, day: u8) -> u8 {
        match (self.first + day - 1) % 7 {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.length => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}

impl Days {
    /// Parses both fields, or returns all their problems.
    pub(crate) fn parse(
        of_month: Slice<'_>,
        of_week: Slice<'_>,
        slots: Slots<'_>,
    ) -> Result<Self, Vec<ScheduleProblem>> {
        let mut days = Self { starred: is_starred(of_month) || is_starred(of_week), ..Self::default() };
        let mut problems = Vec::new();
        for (field, list) in [(Field::DayOfMonth, of_month), (Field::DayOfWeek, of_week)] {
            let list = if list.text == "?" { Slice::whole("*") } else { list };
            for item in items(field, list) {
                let read = item.and_then(|item| match field {
                    Field::DayOfMonth => days.read_day_of_month(item, slots),
                    _ => days.read_day_of_week(item, slots),
                });
                problems.extend(read.err());
            }
        }
        if problems.is_empty() { Ok(days) } else { Err(problems) }
    }

    fn read_day_of_month(&mut self, item: Slice<'_>, slots: Slots<'_>) -> Result<(), ScheduleProblem> {
        let upper = item.text.to_ascii_uppercase();
        if upper == "L" {
            self.before_last = self.before_last.or(Bits::one(0));
        } else if upper == "LW" {
            self.last_weekday = true;
        } else if upper.starts_with("L-") {
            let before = item.slice(2..item.text.len());
            if before.text.is_empty() {
                return Err(Field::DayOfMonth.not_understood(item));
            }
            self.before_last = self.before_last.or(Bits::one(read_days_before_last(before)?));
        } else if upper.ends_with('W') {
            let day = item.slice(0..item.text.len() - 1);
            if !day.is_number() {
                let message = format!("day of month `{}` is not understood", item.text);
                return Err(item.problem(message, "write `W` after one day, as in `15W`, or `LW`"));
            }
            self.nearest_weekdays = self.nearest_weekdays.or(Bits::one(Field::DayOfMonth.value(day)?));
        } else {
            self.days = self.days.or(item_values(Field::DayOfMonth, item, slots)?);
        }
        Ok(())
    }

    fn read_day_of_week(&mut self, item: Slice<'_>, slots: Slots<'_>) -> Result<(), ScheduleProblem> {
        let field = Field::DayOfWeek;
        if item.text.eq_ignore_ascii_case("L") {
            let message = "day of week `L` does not say which day".to_owned();
            return Err(
                item.problem(message, "write `SAT` for each Saturday, or `SATL` for the last of the month")
            );
        }
        if let Some((day, week)) = item.split_once('#') {
            if day.text.is_empty() || week.text.is_empty() {
                return Err(field.not_understood(item));
            }
            let day = field.value(day)? % 7;
            let nth = &mut self.nth[usize::from(read_week(week)? - 1)];
            *nth = nth.or(Bits::one(day));
        } else if item.text.ends_with(['L', 'l']) {
            let day = item.slice(0..item.text.len() - 1);
            self.last = self.last.or(Bits::one(field.value(day)? % 7));
        } else {
            self.weekdays = self.weekdays.or(item_values(field, item, slots)?);
        }
        Ok(())
    }

    /// Returns the matching days of the month that begins on this day.
    pub(crate) fn in_month(&self, first_day: Date) -> Bits {
        let month = Month {
            length: first_day.days_in_month().unsigned_abs(),
            first: first_day.weekday().to_sunday_zero_offset().unsigned_abs(),
        };
        let (of_month, of_week) = (self.of_month(month), self.of_week(month));
        if self.starred { of_month.and(of_week) } else { of_month.or(of_week) }
    }

    fn of_month(&self, month: Month) -> Bits {
        let mut days = self.days;
        for before in self.before_last.iter().take_while(|&before| before < month.length) {
            days = days.or(Bits::one(month.length - before));
        }
        for day in self.nearest_weekdays.and(month.all()).iter() {
            days = days.or(Bits::one(month.nearest_weekday(day)));
        }
        if self.last_weekday {
            days = days.or(Bits::one(month.nearest_weekday(month.length)));
        }
        days.and(month.all())
    }

    fn of_week(&self, month: Month) -> Bits {
        let mut days = month.on(self.weekdays);
        for (week, &weekdays) in self.nth.iter().enumerate() {
            let seven = Bits(0xfe << (7 * week));
            days = days.or(month.on(weekdays).and(seven));
        }
        let final_seven = Bits(0xfe << (month.length - 7));
        days.or(month.on(self.last).and(final_seven))
    }
}

/// Whether Vixie's star flag is set: such a field does not count as given.
fn is_starred(field: Slice<'_>) -> bool {
    field.text.starts_with('*') || field.text == "?"
}

fn read_days_before_last(piece: Slice<'_>) -> Result<u8, ScheduleProblem> {
    let days = piece.number().and_then(|days| u8::try_from(days).ok()).filter(|days| (1..=30).contains(days));
    days.ok_or_else(|| {
        let message =
            format!("`{}` days before the last day of a month is out of range, expected 1-30", piece.text);
        piece.problem(message, "write `L-1` to `L-30`, or `L` for the last day")
    })
}

fn read_week(piece: Slice<'_>) -> Result<u8, ScheduleProblem> {
    let week = piece.number().and_then(|week| u8::try_from(week).ok()).filter(|week| (1..=5).contains(week));
    week.ok_or_else(|| {
        let message = format!("week `{}` of the month is out of range, expected 1-5", piece.text);
        piece.problem(message, "write `#1` to `#5`, or `FRIL` for the last Friday of the month")
    })
}

#[cfg(test)]
mod tests;
