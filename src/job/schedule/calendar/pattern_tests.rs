//! Known special cases of the calendar, and the jumping search compared with one that tries every second or day.

use jiff::ToSpan;
use jiff::civil::{date, datetime};
use proptest::prelude::*;

use crate::job::schedule::parse::expression::Expression;
use crate::job::schedule::parse::slot::Slots;

use super::*;

fn pattern(text: &str) -> Pattern {
    match Expression::parse(text, Slots::of("job")).expect(text) {
        Expression::Civil(pattern, _) => pattern,
        Expression::Every(_) => panic!("{text} is no pattern"),
    }
}

/// Returns the first matches from the beginning of a day on.
fn matches(text: &str, from: Date, count: usize) -> Vec<String> {
    let pattern = pattern(text);
    let next = |at: &DateTime| pattern.at_or_after(*at + 1.second());
    let found = std::iter::successors(pattern.at_or_after(from.to_datetime(Time::midnight())), next);
    found.take(count).map(|at| at.strftime("%F %H:%M:%S %a").to_string()).collect()
}

#[test]
fn the_lore_of_the_calendar_holds() {
    let cases: [(&str, [&str; 3]); 12] = [
        ("0 0 29 2 *", ["2028-02-29 00:00:00 Tue", "2032-02-29 00:00:00 Sun", "2036-02-29 00:00:00 Fri"]),
        ("0 0 31 * *", ["2026-01-31 00:00:00 Sat", "2026-03-31 00:00:00 Tue", "2026-05-31 00:00:00 Sun"]),
        ("0 0 L * *", ["2026-01-31 00:00:00 Sat", "2026-02-28 00:00:00 Sat", "2026-03-31 00:00:00 Tue"]),
        ("0 0 LW * *", ["2026-01-30 00:00:00 Fri", "2026-02-27 00:00:00 Fri", "2026-03-31 00:00:00 Tue"]),
        ("0 0 15W * *", ["2026-01-15 00:00:00 Thu", "2026-02-16 00:00:00 Mon", "2026-03-16 00:00:00 Mon"]),
        ("0 0 * * 5#5", ["2026-01-30 00:00:00 Fri", "2026-05-29 00:00:00 Fri", "2026-07-31 00:00:00 Fri"]),
        ("0 0 13 * ?", ["2026-01-13 00:00:00 Tue", "2026-02-13 00:00:00 Fri", "2026-03-13 00:00:00 Fri"]),
        ("0 0 13 * FRI", ["2026-01-02 00:00:00 Fri", "2026-01-09 00:00:00 Fri", "2026-01-13 00:00:00 Tue"]),
        ("0 0 1-7 * */7", ["2026-01-04 00:00:00 Sun", "2026-02-01 00:00:00 Sun", "2026-03-01 00:00:00 Sun"]),
        ("30 23 L DEC *", ["2026-12-31 23:30:00 Thu", "2027-12-31 23:30:00 Fri", "2028-12-31 23:30:00 Sun"]),
        (
            "*/25 59 23 31 12 *",
            ["2026-12-31 23:59:00 Thu", "2026-12-31 23:59:25 Thu", "2026-12-31 23:59:50 Thu"],
        ),
        ("0 0 29 2 */7", ["2032-02-29 00:00:00 Sun", "2060-02-29 00:00:00 Sun", "2088-02-29 00:00:00 Sun"]),
    ];
    for (text, expected) in cases {
        assert_eq!(matches(text, date(2026, 1, 1), 3), expected, "{text}");
    }
}

#[test]
fn a_leap_day_is_eight_years_off_around_a_century_that_has_none() {
    let leap_day = pattern("0 0 29 2 *");
    assert_eq!(
        leap_day.at_or_after(datetime(2096, 2, 29, 0, 0, 1, 0)),
        Some(datetime(2104, 2, 29, 0, 0, 0, 0))
    );
    assert_eq!(
        leap_day.at_or_before(datetime(2104, 2, 28, 0, 0, 0, 0)),
        Some(datetime(2096, 2, 29, 0, 0, 0, 0))
    );
    let sunday = pattern("0 0 29 2 */7");
    assert_eq!(sunday.at_or_after(datetime(2088, 3, 1, 0, 0, 0, 0)), Some(datetime(2128, 2, 29, 0, 0, 0, 0)));
}

#[test]
fn the_search_ends_with_the_calendar() {
    let midnight = pattern("0 0 * * *");
    assert_eq!(midnight.at_or_after(datetime(9999, 12, 31, 0, 0, 1, 0)), None);
    assert_eq!(
        midnight.at_or_after(datetime(9999, 12, 31, 0, 0, 0, 0)),
        Some(datetime(9999, 12, 31, 0, 0, 0, 0))
    );
    assert_eq!(pattern("0 1 * * *").at_or_before(datetime(-9999, 1, 1, 0, 59, 0, 0)), None);
}

/// Small sets of a field's values.
fn any_set(first: u8, last: u8) -> impl Strategy<Value = Bits> {
    prop::collection::vec(first..=last, 1..4)
        .prop_map(|values| values.into_iter().fold(Bits::default(), |bits, value| bits.or(Bits::one(value))))
}

prop_compose! {
    fn any_pattern()(
        seconds in any_set(0, 59),
        minutes in any_set(0, 59),
        hours in any_set(0, 23),
        months in any_set(1, 12),
        days in prop::sample::select(vec!["* * *", "1,15,28 * *", "L * *", "* * 1,5", "10 * 3", "LW * 6#1", "*/5 * */2"]),
    ) -> Pattern {
        Pattern { seconds, minutes, hours, months, days: pattern(&format!("0 0 {days}")).days }
    }
}

/// Whether the pattern matches one civil time, field by field.
fn is_match(pattern: &Pattern, at: DateTime) -> bool {
    let first = at.date().first_of_month();
    pattern.seconds.contains(at.second().unsigned_abs())
        && pattern.minutes.contains(at.minute().unsigned_abs())
        && pattern.hours.contains(at.hour().unsigned_abs())
        && pattern.months.contains(at.month().unsigned_abs())
        && pattern.days.in_month(first).contains(at.day().unsigned_abs())
}

/// Whether no time strictly between two matches is one. Tries each second on their days and each day in between.
fn nothing_between(pattern: &Pattern, last: DateTime, next: DateTime) -> bool {
    let seconds = |from: DateTime| std::iter::successors(Some(from), |at| Some(*at + 1.second()));
    let rest = seconds(last + 1.second()).take_while(|at| *at < next && at.date() == last.date());
    let start = next.date().to_datetime(Time::midnight()).max(last + 1.second());
    let head = seconds(start).take_while(|at| *at < next);
    let time = time_of(lowest(pattern.hours), lowest(pattern.minutes), lowest(pattern.seconds));
    let days = std::iter::successors(last.date().tomorrow().ok(), |day| day.tomorrow().ok());
    let days = days.take_while(|day| *day < next.date()).map(|day| day.to_datetime(time));
    !rest.chain(head).chain(days).any(|at| is_match(pattern, at))
}

proptest! {
    // A case tries up to two days second by second.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn both_searches_find_matches_and_skip_none(
        pattern in any_pattern(),
        days in 0..20_000i32,
        seconds in 0..86_400i32,
    ) {
        let from = date(1990, 1, 1).at(0, 0, 0, 0) + days.days() + seconds.seconds();
        let next = pattern.at_or_after(from).expect("within the calendar");
        prop_assert!(next >= from && is_match(&pattern, next));
        prop_assert_eq!(pattern.at_or_before(next), Some(next));
        let last = pattern.at_or_before(next - 1.second()).expect("within the calendar");
        prop_assert!(last < from && is_match(&pattern, last));
        prop_assert_eq!(pattern.at_or_after(last + 1.second()), Some(next));
        prop_assert!(nothing_between(&pattern, last, next), "{last} {next}");
    }
}
