//! Parses and formats durations such as `500ms`, `90s`, `5m`, `1h30m`, `2d`. Units without a fixed length and texts
//! with two possible meanings are refused. Every formatted duration can be parsed again.

use std::ops::Range;
use std::time::Duration;

/// Why a duration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct DurationError {
    /// The wrong bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// How to correct it.
    pub help: String,
}

/// The units with their milliseconds, largest first.
const UNITS: [(&str, u64); 6] =
    [("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Index of the largest unit that is used for output: `14d`, not `2w`.
const FIRST_SHOWN: usize = 1;

/// A number with its unit.
struct DurationPart<'a> {
    number: &'a str,
    unit: &'a str,
    span: Range<usize>,
}

/// Parses a duration: whole numbers with the units w, d, h, m, s and ms, each at most once, the largest first. At most
/// `i64::MAX` milliseconds.
///
/// # Errors
/// What is wrong, where, and what to write instead.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let compact: String = text.split_whitespace().collect();
    if compact.len() == text.len() {
        return parse_compact(text);
    }
    // Any other problem is reported rather than the spaces. Its position in `text` is lost, as `compact` has no spaces.
    let within = parse_compact(&compact).err();
    let (message, help) = match within {
        Some(error) => (error.message, error.help),
        None => (format!("duration `{text}` has spaces in it"), format!("write `{compact}`")),
    };
    Err(DurationError { span: 0..text.len(), message, help })
}

/// Returns the shortest text for a duration, in days, hours, minutes, seconds and whole milliseconds, rounded down:
/// `1h30m`.
pub fn format_duration(duration: Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (unit, length) in &UNITS[FIRST_SHOWN..] {
        let count = left / u128::from(*length);
        left %= u128::from(*length);
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

fn parse_compact(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(problem(0..0, "duration is empty".to_owned(), "write e.g. `30s`"));
    }
    if text.starts_with('-') {
        let message = format!("duration `{text}` is negative");
        return Err(problem(0..1, message, "write it without the `-`"));
    }
    let parts = split(text)?;
    let too_long = || problem(0..text.len(), format!("duration `{text}` is too long"), "write a shorter one");
    let mut total: u64 = 0;
    let mut ranks = Vec::new();
    for part in &parts {
        let rank = rank_of(text, part, ranks.last().copied())?;
        let count: u64 = part.number.parse().map_err(|_| too_long())?;
        total = count.checked_mul(UNITS[rank].1).and_then(|ms| total.checked_add(ms)).ok_or_else(too_long)?;
        ranks.push(rank);
    }
    if i64::try_from(total).is_err() {
        return Err(too_long());
    }
    let duration = Duration::from_millis(total);
    if !ranks.is_sorted_by(|larger, smaller| larger < smaller) {
        let message =
            format!("duration `{text}` does not have each unit once, from the largest to the smallest");
        return Err(problem(0..text.len(), message, &format!("write `{}`", format_duration(duration))));
    }
    Ok(duration)
}

/// Cuts `1h30m` into `1h` and `30m`; the last unit may be missing.
fn split(text: &str) -> Result<Vec<DurationPart<'_>>, DurationError> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let letters = rest[digits..].find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len() - digits);
        if digits == 0 || (letters == 0 && digits < rest.len()) {
            return Err(not_whole_numbers(text, start + digits));
        }
        let end = start + digits + letters;
        parts.push(DurationPart {
            number: &rest[..digits],
            unit: &rest[digits..digits + letters],
            span: start..end,
        });
        start = end;
    }
    Ok(parts)
}

/// Returns the index of the part's unit in `UNITS`. `before` is the index of the part before it.
fn rank_of(text: &str, part: &DurationPart<'_>, before: Option<usize>) -> Result<usize, DurationError> {
    if let Some(rank) = UNITS.iter().position(|(unit, _)| *unit == part.unit) {
        return Ok(rank);
    }
    if part.unit.is_empty() {
        // After hours come minutes; a lone number is most often meant in seconds.
        let (unit, _) = before.map_or(UNITS[4], |rank| UNITS[(rank + 1).min(UNITS.len() - 1)]);
        let message = format!("duration `{text}` has no unit after `{}`", part.number);
        return Err(problem(part.span.clone(), message, &format!("write `{text}{unit}`")));
    }
    let unit_span = part.span.start + part.number.len()..part.span.end;
    let message = format!("duration `{text}` has an unknown unit `{}`", part.unit);
    Err(problem(unit_span, message, &known_by_another_name(part)))
}

/// Returns what to write in place of an unknown unit.
fn known_by_another_name(part: &DurationPart<'_>) -> String {
    let meant = match part.unit.to_lowercase().as_str() {
        "mo" | "mon" | "month" | "months" => {
            return "a month has no fixed length: write days, e.g. `30d`".to_owned();
        }
        "y" | "yr" | "year" | "years" => {
            return "a year has no fixed length: write days, e.g. `365d`".to_owned();
        }
        "week" | "weeks" | "w" => "w",
        "day" | "days" | "d" => "d",
        "hour" | "hours" | "hr" | "hrs" | "h" => "h",
        "minute" | "minutes" | "min" | "mins" => "m",
        "second" | "seconds" | "sec" | "secs" | "s" => "s",
        "millisecond" | "milliseconds" | "millis" | "msec" => "ms",
        _ => return "the units are w, d, h, m, s and ms".to_owned(),
    };
    format!("write `{}{meant}`", part.number)
}

fn not_whole_numbers(text: &str, at: usize) -> DurationError {
    let wrong = text[at..].chars().next().map_or(0, char::len_utf8);
    let message = format!("duration `{text}` is not made of whole numbers and units");
    problem(at..at + wrong, message, "write whole numbers with smaller units, e.g. `1h30m`")
}

fn problem(span: Range<usize>, message: String, help: &str) -> DurationError {
    DurationError { span, message, help: help.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_the_sum_of_their_parts() {
        for (text, millis) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1w1d1h1m1s1ms", 694_861_001),
            ("007s", 7_000),
            ("0s", 0),
            ("9223372036854775807ms", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn every_refused_duration_says_where_what_and_the_way_out() {
        let whole = "write whole numbers with smaller units, e.g. `1h30m`";
        let units = "the units are w, d, h, m, s and ms";
        for (text, span, message, help) in [
            ("", 0..0, "duration is empty", "write e.g. `30s`"),
            ("30", 0..2, "duration `30` has no unit after `30`", "write `30s`"),
            ("1h30", 2..4, "duration `1h30` has no unit after `30`", "write `1h30m`"),
            ("5ms3", 3..4, "duration `5ms3` has no unit after `3`", "write `5ms3ms`"),
            ("-5s", 0..1, "duration `-5s` is negative", "write it without the `-`"),
            ("1.5h", 1..2, "duration `1.5h` is not made of whole numbers and units", whole),
            ("h", 0..1, "duration `h` is not made of whole numbers and units", whole),
            ("5m,", 2..3, "duration `5m,` is not made of whole numbers and units", whole),
            ("1h5x", 3..4, "duration `1h5x` has an unknown unit `x`", units),
            ("5µs", 1..4, "duration `5µs` has an unknown unit `µs`", units),
            ("5min", 1..4, "duration `5min` has an unknown unit `min`", "write `5m`"),
            ("5H", 1..2, "duration `5H` has an unknown unit `H`", "write `5h`"),
            (
                "1 month",
                0..7,
                "duration `1month` has an unknown unit `month`",
                "a month has no fixed length: write days, e.g. `30d`",
            ),
            (
                "1y",
                1..2,
                "duration `1y` has an unknown unit `y`",
                "a year has no fixed length: write days, e.g. `365d`",
            ),
            ("1h 30m", 0..6, "duration `1h 30m` has spaces in it", "write `1h30m`"),
            (
                "30m1h",
                0..5,
                "duration `30m1h` does not have each unit once, from the largest to the smallest",
                "write `1h30m`",
            ),
            (
                "1m1m",
                0..4,
                "duration `1m1m` does not have each unit once, from the largest to the smallest",
                "write `2m`",
            ),
            ("99999999999999999d", 0..18, "duration `99999999999999999d` is too long", "write a shorter one"),
            (
                "9223372036854775808ms",
                0..21,
                "duration `9223372036854775808ms` is too long",
                "write a shorter one",
            ),
            (
                "99999999999999999999s",
                0..21,
                "duration `99999999999999999999s` is too long",
                "write a shorter one",
            ),
        ] {
            let expected = DurationError { span, message: message.into(), help: help.into() };
            assert_eq!(parse_duration(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_their_short_form() {
        for (millis, text) in [
            (0, "0s"),
            (500, "500ms"),
            (90_000, "1m30s"),
            (5_400_000, "1h30m"),
            (1_209_600_000, "14d"),
            (86_400_001, "1d1ms"),
        ] {
            assert_eq!(format_duration(Duration::from_millis(millis)), text);
        }
        assert_eq!(format_duration(Duration::from_micros(1_999)), "1ms");
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(millis in 0..=i64::MAX as u64) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-zµ .-]{0,12}") {
            if let Err(error) = parse_duration(&text) {
                prop_assert!(error.span.end <= text.len() && text.get(error.span).is_some());
            }
        }
    }
}
