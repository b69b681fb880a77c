//! Tables of the day fields: every form, how the two fields meet, and how wrong ones are refused.

use jiff::civil::date;

use super::*;

fn days(of_month: &str, of_week: &str, year: i16, month: i8) -> Vec<u8> {
    let days =
        Days::parse(Slice::whole(of_month), Slice::whole(of_week), Slots::of("job")).expect("good fields");
    days.in_month(date(year, month, 1)).iter().collect()
}

#[test]
fn every_form_of_day_matches_the_days_it_says() {
    // 2026: 1 Feb is a Sunday, 28 days; 1 May a Friday, 31 May a Sunday; 1 Aug a Saturday; 31 Oct a Saturday.
    let cases: [(&str, &str, i8, &[u8]); 22] = [
        ("15", "*", 5, &[15]),
        ("29-31", "*", 2, &[]),
        ("L", "*", 2, &[28]),
        ("l", "?", 5, &[31]),
        ("L-3,1", "*", 5, &[1, 28]),
        ("L-30", "*", 5, &[1]),
        ("L-30", "*", 6, &[]),
        ("L-28", "*", 2, &[]),
        ("15W", "*", 5, &[15]),
        ("16W", "*", 5, &[15]),
        ("17W", "*", 5, &[18]),
        ("1W", "*", 8, &[3]),
        ("1W", "*", 2, &[2]),
        ("31W", "*", 5, &[29]),
        ("31W", "*", 10, &[30]),
        ("31W", "*", 4, &[]),
        ("LW", "*", 5, &[29]),
        ("lw", "*", 2, &[27]),
        ("*", "5L", 5, &[29]),
        ("*", "FRIL,SUN#1", 2, &[1, 27]),
        ("*", "5#5", 5, &[29]),
        ("*", "7#5", 2, &[]),
    ];
    for (of_month, of_week, month, expected) in cases {
        assert_eq!(days(of_month, of_week, 2026, month), expected, "{of_month} {of_week} {month}");
    }
}

#[test]
fn days_of_the_week_agree_with_the_calendar_in_every_month() {
    for year in [1900, 1999, 2000, 2024, 2026] {
        for month in 1..=12 {
            for weekday in 0..7 {
                let first = date(year, month, 1);
                let expected: Vec<u8> = (1..=first.days_in_month())
                    .filter(|&day| date(year, month, day).weekday().to_sunday_zero_offset() == weekday)
                    .map(|day| day.unsigned_abs())
                    .collect();
                assert_eq!(days("*", &weekday.to_string(), year, month), expected, "{year}-{month}");
                assert_eq!(days("*", &format!("{weekday}L"), year, month), expected[expected.len() - 1..]);
                assert_eq!(days("*", &format!("{weekday}#2"), year, month), [expected[1]]);
            }
        }
    }
}

#[test]
fn both_fields_given_either_matches() {
    assert_eq!(days("1,20", "MON", 2026, 2), [1, 2, 9, 16, 20, 23]);
    assert_eq!(days("31", "MON", 2026, 2), [2, 9, 16, 23]);
    assert_eq!(days("L-28", "MON", 2026, 2), [2, 9, 16, 23]);
}

#[test]
fn a_field_that_begins_with_a_star_does_not_count_as_given_so_both_must_match() {
    assert_eq!(days("*", "MON", 2026, 2), [2, 9, 16, 23]);
    assert_eq!(days("?", "MON", 2026, 2), [2, 9, 16, 23]);
    assert_eq!(days("*/2", "MON", 2026, 2), [9, 23]);
    assert_eq!(days("1-7", "*/2", 2026, 2), [1, 3, 5, 7]);
    assert_eq!(days("5", "?", 2026, 2), [5]);
    assert_eq!(days("*,5", "MON", 2026, 2), [2, 9, 16, 23]);
}

const DAY_FORMS: &str = "write `*`, a value, a range `a-b`, a step `*/n` or a list `a,b` of values 1-31, or `L`, `L-3`, `15W`, `LW`";
const WEEKDAY_FORMS: &str = "write `*`, a value, a range `a-b`, a step `*/n` or a list `a,b` of values 0-7 or SUN-SAT, or `5L`, `5#2`";

#[test]
fn every_refused_day_says_where_what_and_the_way_out() {
    let weekday_form = "write `W` after one day, as in `15W`, or `LW`";
    let cases = [
        ("1,1-5W", "*", 2..6, "day of month `1-5W` is not understood", weekday_form),
        ("W", "*", 0..1, "day of month `W` is not understood", weekday_form),
        ("L-", "*", 0..2, "day of month `L-` is not understood", DAY_FORMS),
        ("*", "5#", 0..2, "day of week `5#` is not understood", WEEKDAY_FORMS),
        ("*", "#5", 0..2, "day of week `#5` is not understood", WEEKDAY_FORMS),
        ("32W", "*", 0..2, "day of month `32` is out of range, expected 1-31", "write 1-31"),
        (
            "L-31",
            "*",
            2..4,
            "`31` days before the last day of a month is out of range, expected 1-30",
            "write `L-1` to `L-30`, or `L` for the last day",
        ),
        (
            "*",
            "L",
            0..1,
            "day of week `L` does not say which day",
            "write `SAT` for each Saturday, or `SATL` for the last of the month",
        ),
        (
            "*",
            "5#6",
            2..3,
            "week `6` of the month is out of range, expected 1-5",
            "write `#1` to `#5`, or `FRIL` for the last Friday of the month",
        ),
        (
            "*",
            "8#1",
            0..1,
            "day of week `8` is out of range, expected 0-7 or SUN-SAT",
            "write 0-7 or SUN-SAT",
        ),
        ("*", "FRJL", 0..3, "day of week `FRJ` is not understood", "did you mean `FRI`?"),
    ];
    for (of_month, of_week, span, message, help) in cases {
        let problems = Days::parse(Slice::whole(of_month), Slice::whole(of_week), Slots::of("job"));
        let expected = ScheduleProblem { span, message: message.into(), help: help.into() };
        assert_eq!(problems.expect_err("wrong"), [expected], "{of_month} {of_week}");
    }
}
