//! Describes a schedule in English: `at 02:30 every day`. The description is exact for any fields, because it is made
//! from the parsed values, not from the text.

use crate::job::format_duration;

use super::calendar::bits::Bits;
use super::calendar::pattern::Pattern;
use super::parse::expression::Expression;
use super::parse::field::Field;

/// At most this many times of day are listed one by one.
const LISTED_TIMES: usize = 6;

/// Fewer numbers than this are listed rather than described as a step.
const SHORTEST_STEP: usize = 3;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns one expression in words.
pub(super) fn of(expression: &Expression) -> String {
    match expression {
        Expression::Every(interval) => {
            format!("every {}, counted from the Unix epoch", format_duration(interval.period()))
        }
        Expression::Civil(pattern, _) => pattern.words(),
    }
}

/// Joins words: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Lists the numbers of a set: `1, 5 and 9`.
pub(super) fn numbers(bits: Bits) -> String {
    listed(&bits.iter().map(|number| number.to_string()).collect::<Vec<_>>())
}

/// Returns the first and the last number, if the set is more than two consecutive numbers.
pub(super) fn range(bits: Bits) -> Option<(u8, u8)> {
    let (first, last) = (bits.at_or_above(0)?, bits.at_or_below(63)?);
    (bits == Bits::stepped(first, last, 1) && last - first >= 2).then_some((first, last))
}

/// Whether the set has every value of the field.
pub(super) fn is_all(field: Field, bits: Bits) -> bool {
    bits == Bits::stepped(field.first(), field.last(), 1)
}

/// Returns the distance between the values, if they run through the whole field from its first value on.
fn step(field: Field, bits: Bits) -> Option<u8> {
    let all: Vec<u8> = bits.iter().collect();
    let distance = all.get(1)? - all[0];
    let goes_through = bits == Bits::stepped(field.first(), field.last(), distance);
    (all.len() >= SHORTEST_STEP && distance > 1 && goes_through).then_some(distance)
}

impl Pattern {
    fn words(&self) -> String {
        let (time, is_of_day) = self.time_words();
        let days = self.days.words();
        let months: Vec<String> =
            self.months.iter().map(|month| MONTHS[usize::from(month) - 1].to_owned()).collect();
        let months = match is_all(Field::Month, self.months) {
            true => String::new(),
            false => format!(" in {}", listed(&months)),
        };
        match days {
            Some(days) => format!("{time} on {days}{months}"),
            None if is_of_day => format!("{time} every day{months}"),
            None => format!("{time}{months}"),
        }
    }

    /// Returns the time of day in words, and whether it is a short list of times of each day.
    fn time_words(&self) -> (String, bool) {
        let (seconds, minutes, hours) = (self.seconds, self.minutes, self.hours);
        let on_the_minute = seconds == Bits::one(0);
        let times = seconds.iter().count() * minutes.iter().count() * hours.iter().count();
        if times <= LISTED_TIMES {
            let clock = |hour: u8, minute: u8, second: u8| match on_the_minute {
                true => format!("{hour:02}:{minute:02}"),
                false => format!("{hour:02}:{minute:02}:{second:02}"),
            };
            let times = hours.iter().flat_map(|hour| {
                minutes
                    .iter()
                    .flat_map(move |minute| seconds.iter().map(move |second| clock(hour, minute, second)))
            });
            return (format!("at {}", listed(&times.collect::<Vec<_>>())), true);
        }
        if on_the_minute && minutes == Bits::one(0) {
            if is_all(Field::Hour, hours) || step(Field::Hour, hours).is_some() {
                return (each(Field::Hour, hours), false);
            }
            if let Some((first, last)) = range(hours) {
                return (format!("every hour from {first:02}:00 to {last:02}:00"), false);
            }
        }
        let mut words = Vec::new();
        if !on_the_minute {
            words.push(each(Field::Second, seconds));
        }
        if on_the_minute || !is_all(Field::Minute, minutes) {
            words.push(each(Field::Minute, minutes));
        }
        match (is_all(Field::Hour, hours), step(Field::Hour, hours), range(hours)) {
            (true, ..) => {}
            (_, Some(step), _) => words.push(format!("of every {step} hours")),
            (_, _, Some((first, last))) => words.push(format!("from {first:02}:00 to {last:02}:59")),
            _ => {
                let hours: Vec<String> = hours.iter().map(|hour| format!("{hour:02}")).collect();
                let noun = if hours.len() == 1 { "hour" } else { "hours" };
                words.push(format!("in {noun} {}", listed(&hours)));
            }
        }
        (words.join(" "), false)
    }
}

/// Returns the values of a field in words: `every 5 minutes`, `at minute 30`.
fn each(field: Field, bits: Bits) -> String {
    let name = field.name();
    if is_all(field, bits) {
        return format!("every {name}");
    }
    if let Some(step) = step(field, bits) {
        return format!("every {step} {name}s");
    }
    let noun = if bits.iter().count() == 1 { name.to_owned() } else { format!("{name}s") };
    match range(bits) {
        Some((first, last)) => format!("at {noun} {first} to {last}"),
        None => format!("at {noun} {}", numbers(bits)),
    }
}

#[cfg(test)]
mod tests {
    use crate::job::Schedule;

    #[test]
    fn schedules_are_told_in_words() {
        for (expression, words) in [
            ("30 2 * * *", "at 02:30 every day"),
            ("@daily", "at 00:00 every day"),
            ("@hourly", "every hour"),
            ("30 * * * *", "at minute 30"),
            ("* * * * *", "every minute"),
            ("*/5 * * * *", "every 5 minutes"),
            ("*/7 * * * *", "every 7 minutes"),
            ("5/20 * * * *", "at minutes 5, 25 and 45"),
            ("* * * * * *", "every second"),
            ("*/10 * * * * *", "every 10 seconds"),
            ("*/10 */5 * * * *", "every 10 seconds every 5 minutes"),
            ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00 on Monday to Friday"),
            ("*/15 9-17 * * MON-FRI", "every 15 minutes from 09:00 to 17:59 on Monday to Friday"),
            ("0 */2 * * *", "every 2 hours"),
            ("30 */2 * * *", "at minute 30 of every 2 hours"),
            ("0 6,14,22 * * *", "at 06:00, 14:00 and 22:00 every day"),
            ("0 0 1 * *", "at 00:00 on day 1 of the month"),
            ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month"),
            ("0 0 L * *", "at 00:00 on the last day of the month"),
            ("0 0 L-3 * *", "at 00:00 on 3 days before the last day of the month"),
            ("0 0 15W * *", "at 00:00 on the weekday nearest to day 15 of the month"),
            ("0 0 LW * *", "at 00:00 on the last weekday of the month"),
            ("0 0 * * 5#2", "at 00:00 on the 2nd Friday of the month"),
            ("0 0 * * FRIL", "at 00:00 on the last Friday of the month"),
            ("0 0 1 1,7 *", "at 00:00 on day 1 of the month in January and July"),
            ("0 0 13 * 5", "at 00:00 on day 13 of the month, or Friday"),
            (
                "0 0 */2 * 1",
                "at 00:00 on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month if it is \
                Monday",
            ),
            ("0 12 * * 0,3,6", "at 12:00 on Sunday, Wednesday and Saturday"),
            ("15 30 2 * * *", "at 02:30:15 every day"),
            ("@every 90s", "every 1m30s, counted from the Unix epoch"),
        ] {
            let schedule = Schedule::parse("job", &[expression], "UTC").expect(expression);
            assert_eq!(schedule.words(), words, "{expression}");
        }
        let both = Schedule::parse("job", &["0 6 * * *", "@every 2h"], "UTC").expect("two");
        assert_eq!(both.words(), "at 06:00 every day; every 2h, counted from the Unix epoch");
    }
}
