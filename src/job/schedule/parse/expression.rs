//! One expression of a schedule: fields, a nickname for fields, or `@every`. Parsing reports all problems of its text
//! at once.

use jiff::Timestamp;

use crate::job::schedule::calendar::bits::Bits;
use crate::job::schedule::calendar::day::Days;
use crate::job::schedule::calendar::dst::Rule;
use crate::job::schedule::calendar::pattern::Pattern;
use crate::job::schedule::calendar::zone::Zone;
use crate::job::schedule::error::ScheduleProblem;

use super::field::Field;
use super::interval::Interval;
use super::item::values;
use super::nickname::{EVERY, expand};
use super::piece::Slice;
use super::slot::Slots;

/// One expression, checked: it has at least one tick.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    /// Civil times, and the rule that maps them to instants.
    Civil(Pattern, Rule),
    /// Multiples of a duration, independent of the zone.
    Every(Interval),
}

/// The words of an expression, one per field.
#[derive(Debug, Clone, Copy)]
struct CronFields<'a> {
    second: Option<Slice<'a>>,
    minute: Slice<'a>,
    hour: Slice<'a>,
    day_of_month: Slice<'a>,
    month: Slice<'a>,
    day_of_week: Slice<'a>,
}

impl Expression {
    /// Parses an expression; `slots` are those of its job.
    pub(crate) fn parse(text: &str, slots: Slots<'_>) -> Result<Self, Vec<ScheduleProblem>> {
        let whole = Slice::whole(text).trimmed();
        if !whole.text.starts_with('@') {
            return CronFields::split(whole).map_err(|problem| vec![problem])?.read(slots);
        }
        let name = whole.words().next().expect("it starts with `@`");
        let rest = whole.slice(name.text.len()..whole.text.len()).trimmed();
        if name.text.eq_ignore_ascii_case(EVERY) {
            if rest.text.is_empty() {
                let message = format!("`{}` has no duration", name.text);
                return Err(vec![name.problem(message, "write `@every 5m`")]);
            }
            return Interval::parse(rest).map(Self::Every).map_err(|problem| vec![problem]);
        }
        let fields = expand(name).map_err(|problem| vec![problem])?;
        if !rest.text.is_empty() {
            let message = format!("`{}` is followed by `{}`", name.text, rest.text);
            return Err(vec![rest.problem(message, format!("write `{}` alone", name.text))]);
        }
        CronFields::split(Slice::whole(fields)).expect("a nickname stands for five fields").read(slots)
    }

    /// Returns its first tick at or after an instant in whole seconds.
    pub(crate) fn at_or_after(&self, zone: &Zone, from: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Civil(pattern, rule) => rule.at_or_after(pattern, zone, from),
            Self::Every(interval) => interval.at_or_after(from),
        }
    }

    /// Returns its last tick at or before an instant in whole seconds.
    pub(crate) fn at_or_before(&self, zone: &Zone, from: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Civil(pattern, rule) => rule.at_or_before(pattern, zone, from),
            Self::Every(interval) => interval.at_or_before(from),
        }
    }

    /// Whether the ticks of this valid text depend on the job's slots.
    pub(crate) fn is_hashed(text: &str) -> bool {
        let mut items = text.split_whitespace().flat_map(|field| field.split(','));
        !text.starts_with('@') && items.any(|item| item.starts_with(['H', 'h']))
    }
}

impl<'a> CronFields<'a> {
    fn split(whole: Slice<'a>) -> Result<Self, ScheduleProblem> {
        let words: Vec<Slice<'a>> = whole.words().collect();
        let (second, five) = match words.as_slice() {
            [] => {
                return Err(
                    whole.problem("is empty".to_owned(), "write five fields, e.g. `30 2 * * *`, or `@daily`")
                );
            }
            [zone, ..] if zone.text.contains("TZ=") => {
                let message = format!("`{}` is not part of an expression", zone.text);
                return Err(zone.problem(message, "set the job's `timezone`"));
            }
            [second, five @ ..] if five.len() == 5 => (Some(*second), five),
            five => (None, five),
        };
        match *five {
            [minute, hour, day_of_month, month, day_of_week] => {
                Ok(Self { second, minute, hour, day_of_month, month, day_of_week })
            }
            _ => Err(wrong_count(whole, words.len())),
        }
    }

    fn read(self, slots: Slots<'_>) -> Result<Expression, Vec<ScheduleProblem>> {
        let mut problems = Vec::new();
        let mut plain = |field, list| {
            values(field, list, slots).unwrap_or_else(|more| {
                problems.extend(more);
                Bits::default()
            })
        };
        let seconds = self.second.map_or(Bits::one(0), |second| plain(Field::Second, second));
        let minutes = plain(Field::Minute, self.minute);
        let hours = plain(Field::Hour, self.hour);
        let months = plain(Field::Month, self.month);
        let days = match self.year() {
            Some(year) => Err(vec![year]),
            None => Days::parse(self.day_of_month, self.day_of_week, slots),
        };
        match days {
            Ok(days) if problems.is_empty() => {
                let pattern = Pattern { seconds, minutes, hours, months, days };
                if pattern.is_possible() {
                    Ok(self.with_rule(pattern))
                } else {
                    Err(vec![self.impossible(pattern, slots)])
                }
            }
            days => {
                problems.extend(days.err().into_iter().flatten());
                problems.sort_by_key(|problem| problem.span.start);
                Err(problems)
            }
        }
    }

    fn with_rule(self, pattern: Pattern) -> Expression {
        let starred = self.minute.text.starts_with('*') || self.hour.text.starts_with('*');
        Expression::Civil(pattern, if starred { Rule::RealTime } else { Rule::FixedTime })
    }

    /// Returns a problem if the last of six fields is a year, as some other crons accept: here it is never one.
    fn year(self) -> Option<ScheduleProblem> {
        self.second?;
        let mut values = self.day_of_week.split(',').flat_map(|item| {
            let base = item.split_once('/').map_or(item, |(base, _)| base);
            base.split('-')
        });
        let year = values.find(|value| value.number().is_some_and(|number| number > 7))?;
        let message =
            format!("day of week `{}` is out of range, expected {}", year.text, Field::DayOfWeek.bounds());
        Some(year.problem(message, NO_YEAR))
    }

    /// Returns the problem of a pattern that matches no date, with the reason.
    fn impossible(self, pattern: Pattern, slots: Slots<'_>) -> ScheduleProblem {
        let any_weekday = Slice::whole("*");
        let day_alone = Days::parse(self.day_of_month, any_weekday, slots).expect("read before");
        let months = pattern.months;
        let (last, help) = if (Pattern { days: day_alone, ..pattern }).is_possible() {
            (
                self.day_of_week,
                "no date matches both day fields: give days that meet, or `*` for one".to_owned(),
            )
        } else {
            (self.month, longest(months))
        };
        let span = self.day_of_month.span().start..last.span().end;
        ScheduleProblem { span, message: "never matches any date".to_owned(), help }
    }
}

/// The help for a text that seems to have a year.
const NO_YEAR: &str =
    "a year? the fields are second minute hour day-of-month month day-of-week, and none is a year";

fn wrong_count(whole: Slice<'_>, count: usize) -> ScheduleProblem {
    let noun = if count == 1 { "field" } else { "fields" };
    let message = format!("has {count} {noun}, expected 5, or 6 with seconds first");
    let help = match count {
        7 => NO_YEAR,
        _ => "the fields are minute hour day-of-month month day-of-week",
    };
    whole.problem(message, help)
}

/// Returns a help with the length of the longest of these months, none of which has 31 days.
fn longest(months: Bits) -> String {
    const SHORT: [(u8, &str); 5] =
        [(2, "February"), (4, "April"), (6, "June"), (9, "September"), (11, "November")];
    let names: Vec<&str> =
        SHORT.iter().filter(|(month, _)| months.contains(*month)).map(|(_, name)| *name).collect();
    let (last, others) = names.split_last().expect("every day is in a month of 31 days");
    match (others, *last) {
        ([], "February") => "February has at most 29 days".to_owned(),
        ([], name) => format!("{name} has at most 30 days"),
        (others, last) => format!("{} and {last} have at most 30 days", others.join(", ")),
    }
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
