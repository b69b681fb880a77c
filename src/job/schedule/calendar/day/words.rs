//! The day fields in words: `Monday to Friday`, `the last day of the month`.

use crate::job::schedule::parse::field::Field;
use crate::job::schedule::words::{is_all, listed, numbers, range};

use super::super::bits::Bits;
use super::Days;

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const NTH: [&str; 5] = ["1st", "2nd", "3rd", "4th", "5th"];

fn weekday(day: u8) -> &'static str {
    WEEKDAYS[usize::from(day)]
}

impl Days {
    /// Returns the days in words; `None` if it is every day.
    pub(crate) fn words(&self) -> Option<String> {
        let is_any_of_month = is_all(Field::DayOfMonth, self.days);
        let is_any_of_week = is_all(Field::DayOfWeek, self.weekdays);
        match (is_any_of_month, is_any_of_week, self.starred) {
            (true, true, _) => None,
            (true, false, true) => Some(self.words_of_week()),
            (false, true, true) => Some(self.words_of_month()),
            (_, _, true) => Some(format!("{} if it is {}", self.words_of_month(), self.words_of_week())),
            (true, _, false) | (_, true, false) => None,
            (false, false, false) => Some(format!("{}, or {}", self.words_of_month(), self.words_of_week())),
        }
    }

    fn words_of_month(&self) -> String {
        let mut words = Vec::new();
        if !self.days.is_empty() {
            let noun = if self.days.iter().count() == 1 { "day" } else { "days" };
            words.push(match range(self.days) {
                Some((first, last)) => format!("days {first} to {last}"),
                None => format!("{noun} {}", numbers(self.days)),
            });
        }
        words.extend(self.before_last.iter().map(|before| match before {
            0 => "the last day".to_owned(),
            1 => "1 day before the last day".to_owned(),
            _ => format!("{before} days before the last day"),
        }));
        words.extend(self.nearest_weekdays.iter().map(|day| format!("the weekday nearest to day {day}")));
        words.extend(self.last_weekday.then(|| "the last weekday".to_owned()));
        format!("{} of the month", listed(&words))
    }

    fn words_of_week(&self) -> String {
        let mut words: Vec<String> = match range(self.weekdays) {
            Some((first, last)) => vec![format!("{} to {}", weekday(first), weekday(last))],
            None => self.weekdays.iter().map(|day| weekday(day).to_owned()).collect(),
        };
        let of_month = |which: &str, days: Bits| {
            let days = days.iter().map(|day| format!("the {which} {}", weekday(day)));
            days.collect::<Vec<_>>()
        };
        let mut weeks: Vec<String> =
            NTH.iter().zip(self.nth).flat_map(|(which, days)| of_month(which, days)).collect();
        weeks.extend(of_month("last", self.last));
        if !weeks.is_empty() {
            words.push(format!("{} of the month", listed(&weeks)));
        }
        listed(&words)
    }
}
