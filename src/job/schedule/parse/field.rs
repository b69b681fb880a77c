//! The six fields of a pattern: their names, bounds and the words for their values. A parsed value is within its
//! field's bounds.

use crate::job::nearest;
use crate::job::schedule::error::ScheduleProblem;

use super::piece::Slice;

/// One of the six fields, in the order of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// 0-59; absent from a pattern of five fields.
    Second,
    /// 0-59.
    Minute,
    /// 0-23.
    Hour,
    /// 1-31.
    DayOfMonth,
    /// 1-12 or JAN-DEC.
    Month,
    /// 0-6 or SUN-SAT; 7 may be written for Sunday, too.
    DayOfWeek,
}

/// Words for the months.
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Words for the days of the week.
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// Returns its name in messages. It must never change: the slots of `H` are hashed from it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        }
    }

    /// Returns its lowest value.
    pub(crate) const fn first(self) -> u8 {
        match self {
            Self::DayOfMonth | Self::Month => 1,
            _ => 0,
        }
    }

    /// Returns its highest value; 6 for days of the week, where 7 is only another way to write 0.
    pub(crate) const fn last(self) -> u8 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 6,
        }
    }

    /// Returns how many values it has.
    pub(crate) const fn count(self) -> u8 {
        self.last() - self.first() + 1
    }

    /// Returns its values, as a help shows them.
    pub(crate) const fn bounds(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "0-59",
            Self::Hour => "0-23",
            Self::DayOfMonth => "1-31",
            Self::Month => "1-12 or JAN-DEC",
            Self::DayOfWeek => "0-7 or SUN-SAT",
        }
    }

    /// Returns the forms that only this field has, as a help shows them.
    const fn own_forms(self) -> &'static str {
        match self {
            Self::DayOfMonth => ", or `L`, `L-3`, `15W`, `LW`",
            Self::DayOfWeek => ", or `5L`, `5#2`",
            _ => "",
        }
    }

    /// Whether `?` may stand for `*` here.
    pub(crate) const fn is_day(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    /// Returns the words for its values, from its lowest value on.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    /// Writes the value as a word, if it has one and `like` is not a number, else as a number.
    pub(crate) fn write(self, value: u8, like: Slice<'_>) -> String {
        let word = self.words().get(usize::from(value - self.first()));
        match word {
            Some(word) if !like.is_number() => (*word).to_owned(),
            _ => value.to_string(),
        }
    }

    /// Parses one value: a number, or a word in any case. A day of week may be 7.
    pub(crate) fn value(self, piece: Slice<'_>) -> Result<u8, ScheduleProblem> {
        let highest = if self == Self::DayOfWeek { 7 } else { self.last() };
        match piece.number() {
            Some(number) => u8::try_from(number)
                .ok()
                .filter(|value| (self.first()..=highest).contains(value))
                .ok_or_else(|| self.out_of_range(piece)),
            None => self
                .words()
                .iter()
                .position(|word| word.eq_ignore_ascii_case(piece.text))
                .map(|at| at as u8 + self.first())
                .ok_or_else(|| self.not_understood(piece)),
        }
    }

    fn out_of_range(self, piece: Slice<'_>) -> ScheduleProblem {
        let help = match (self, piece.number()) {
            (Self::Hour, Some(24)) => "midnight is hour `0`".to_owned(),
            (Self::Second | Self::Minute, Some(60)) => format!("a full turn is {} `0`", self.name()),
            _ => format!("write {}", self.bounds()),
        };
        piece.problem(
            format!("{} `{}` is out of range, expected {}", self.name(), piece.text, self.bounds()),
            help,
        )
    }

    /// Returns the problem of a text that is not a value, with what to write instead.
    pub(crate) fn not_understood(self, piece: Slice<'_>) -> ScheduleProblem {
        let message = format!("{} `{}` is not understood", self.name(), piece.text);
        let abbreviated = self.words().iter().copied().find(|word| {
            piece.text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
                && piece.text.bytes().all(|b| b.is_ascii_alphabetic())
        });
        let word = abbreviated.or_else(|| nearest(piece.text, self.words().iter().copied()));
        match word {
            Some(word) => piece.problem(message, format!("did you mean `{word}`?")),
            None => piece.problem(
                message,
                format!(
                    "write `*`, a value, a range `a-b`, a step `*/n` or a list `a,b` of values {}{}",
                    self.bounds(),
                    self.own_forms()
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_within_bounds_or_words_in_any_case() {
        let cases = [
            (Field::Minute, "0", 0),
            (Field::Minute, "059", 59),
            (Field::Hour, "23", 23),
            (Field::DayOfMonth, "31", 31),
            (Field::Month, "dec", 12),
            (Field::Month, "Jan", 1),
            (Field::DayOfWeek, "7", 7),
            (Field::DayOfWeek, "SAT", 6),
        ];
        for (field, text, expected) in cases {
            assert_eq!(field.value(Slice::whole(text)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_refused_value_says_what_is_wrong_and_what_is_right() {
        let cases = [
            (Field::Minute, "60", "minute `60` is out of range, expected 0-59", "a full turn is minute `0`"),
            (Field::Second, "99", "second `99` is out of range, expected 0-59", "write 0-59"),
            (Field::Hour, "24", "hour `24` is out of range, expected 0-23", "midnight is hour `0`"),
            (Field::DayOfMonth, "0", "day of month `0` is out of range, expected 1-31", "write 1-31"),
            (Field::Month, "13", "month `13` is out of range", "write 1-12 or JAN-DEC"),
            (Field::DayOfWeek, "8", "day of week `8` is out of range", "write 0-7 or SUN-SAT"),
            (Field::Month, "March", "month `March` is not understood", "did you mean `MAR`?"),
            (Field::DayOfWeek, "WEN", "day of week `WEN` is not understood", "did you mean `WED`?"),
            (Field::Hour, "noon", "hour `noon` is not understood", "of values 0-23"),
            (Field::Minute, "-5", "minute `-5` is not understood", "a range `a-b`"),
            (Field::DayOfMonth, "5L", "day of month `5L` is not understood", "or `L`, `L-3`, `15W`, `LW`"),
            (Field::Minute, "99999999999999999999", "is out of range", "write 0-59"),
        ];
        for (field, text, message, help) in cases {
            let problem = field.value(Slice::whole(text)).expect_err(text);
            assert!(problem.message.starts_with(message) || problem.message.contains(message), "{problem:?}");
            assert!(problem.help.contains(help), "{problem:?}");
            assert_eq!(problem.span, 0..text.len());
        }
    }
}
