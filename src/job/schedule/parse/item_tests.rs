//! Tables of the items that every field has: what they mean, and how the wrong ones are refused.

use super::*;

const SLOTS: Slots<'static> = Slots::of("job");

fn read(field: Field, text: &str) -> Vec<u8> {
    values(field, Slice::whole(text), SLOTS).expect(text).iter().collect()
}

#[test]
fn items_are_values_ranges_steps_and_lists_of_them() {
    let cases: [(Field, &str, &[u8]); 16] = [
        (Field::Hour, "5", &[5]),
        (Field::Hour, "9-12", &[9, 10, 11, 12]),
        (Field::Hour, "9-9", &[9]),
        (Field::Minute, "*/20", &[0, 20, 40]),
        (Field::Minute, "10-40/15", &[10, 25, 40]),
        (Field::Minute, "5/15", &[5, 20, 35, 50]),
        (Field::Minute, "*/60", &[0]),
        (Field::Minute, "50,5-6,5", &[5, 6, 50]),
        (Field::Month, "jan-Mar,DEC", &[1, 2, 3, 12]),
        (Field::Month, "*/5", &[1, 6, 11]),
        (Field::DayOfWeek, "MON-FRI", &[1, 2, 3, 4, 5]),
        (Field::DayOfWeek, "FRI-SUN", &[0, 5, 6]),
        (Field::DayOfWeek, "5-7", &[0, 5, 6]),
        (Field::DayOfWeek, "0,7,sun,SUN-SUN", &[0]),
        (Field::DayOfWeek, "0-7", &[0, 1, 2, 3, 4, 5, 6]),
        (Field::DayOfWeek, "1/2", &[1, 3, 5]),
    ];
    for (field, text, expected) in cases {
        assert_eq!(read(field, text), expected, "{text}");
    }
    assert_eq!(read(Field::DayOfWeek, "*"), read(Field::DayOfWeek, "0-6"));
    assert_eq!(read(Field::DayOfWeek, "7/2"), [0], "a step from the last value has nowhere to go");
}

#[test]
fn every_refused_item_says_where_what_and_the_way_out() {
    use Field::{DayOfMonth, DayOfWeek, Hour, Minute, Month, Second};
    let cases = [
        (Hour, "22-2", 0..4, "hour range `22-2` runs backwards", "write `22-23,0-2`"),
        (Hour, "23-0", 0..4, "hour range `23-0` runs backwards", "write `23,0`"),
        (Hour, "1,22-2/2", 2..6, "hour range `22-2` runs backwards", "write `22,0,2`"),
        (Month, "NOV-FEB", 0..7, "month range `NOV-FEB` runs backwards", "write `NOV-DEC,JAN-FEB`"),
        (Month, "11-2/2", 0..4, "month range `11-2` runs backwards", "write `11,1`"),
        (DayOfMonth, "28-3", 0..4, "day of month range `28-3` runs backwards", "write `28-31,1-3`"),
        (DayOfWeek, "FRI-MON", 0..7, "day of week range `FRI-MON` runs backwards", "write `FRI-SAT,SUN-MON`"),
        (DayOfWeek, "5-0", 0..3, "day of week range `5-0` runs backwards", "write `5-7`"),
        (DayOfWeek, "7-2", 0..3, "day of week range `7-2` runs backwards", "write `0-2`"),
        (DayOfWeek, "7-3/2", 0..3, "day of week range `7-3` runs backwards", "write `0,2`"),
        (Minute, "*/0", 2..3, "minute step `0` never moves on", "write a step from 1 to 60"),
        (
            Minute,
            "*/90",
            2..4,
            "minute step `90` is larger than the field, which has 60 values",
            "write a step from 1 to 60, or `@every 90m`",
        ),
        (
            Month,
            "*/13",
            2..4,
            "month step `13` is larger than the field, which has 12 values",
            "write a step from 1 to 12",
        ),
        (Hour, "*/x", 2..3, "hour step `x` is not a number", "write a number from 1 to 24 after the `/`"),
        (Hour, "*/", 0..2, "hour step is missing in `*/`", "write a number from 1 to 24 after the `/`"),
        (Hour, "9-", 0..2, "hour range `9-` is not complete", "write `a-b` with values 0-23"),
        (Minute, "1,60", 2..4, "minute `60` is out of range, expected 0-59", "a full turn is minute `0`"),
        (Minute, "5-70", 2..4, "minute `70` is out of range, expected 0-59", "write 0-59"),
        (
            Second,
            "1,,2",
            2..3,
            "second list `1,,2` has an empty item",
            "remove the comma, or write the missing value",
        ),
        (
            Second,
            ",1",
            0..1,
            "second list `,1` has an empty item",
            "remove the comma, or write the missing value",
        ),
        (
            Second,
            "1,",
            1..2,
            "second list `1,` has an empty item",
            "remove the comma, or write the missing value",
        ),
        (Hour, "?", 0..1, "hour `?` is not understood", "write `*`: only the day fields have `?`"),
        (
            DayOfMonth,
            "?/2",
            0..1,
            "day of month `?` is not understood",
            "write `?` alone, without list or step, or `*`",
        ),
        (Hour, "H(5)", 0..4, "hour `H(5)` is not understood", "write `H`, `H/n` or `H(0-23)`"),
        (DayOfMonth, "Hx", 0..2, "day of month `Hx` is not understood", "write `H`, `H/n` or `H(1-28)`"),
        (Hour, "H(9-5)", 2..5, "hour range `9-5` runs backwards", "write `9-23,0-5`"),
        (
            Minute,
            "H(0-9)/15",
            0..6,
            "minute step `15` is larger than the 10 values of `H(0-9)`",
            "write a step from 1 to 10",
        ),
    ];
    for (field, text, span, message, help) in cases {
        let problems = values(field, Slice::whole(text), SLOTS).expect_err(text);
        assert_eq!(
            problems,
            [ScheduleProblem { span, message: message.into(), help: help.into() }],
            "{text}"
        );
    }
}

#[test]
fn all_problems_of_a_list_are_told_at_once() {
    let problems = values(Field::Minute, Slice::whole("60,5,a,"), SLOTS).expect_err("three are wrong");
    assert_eq!(problems.iter().map(|p| p.span.clone()).collect::<Vec<_>>(), [0..2, 5..6, 6..7]);
}

#[test]
fn whatever_stands_in_a_way_out_is_accepted() {
    for (field, text) in [
        (Field::Hour, "22-2"),
        (Field::Hour, "22-2/3"),
        (Field::Month, "NOV-FEB"),
        (Field::DayOfWeek, "SAT-TUE/2"),
        (Field::DayOfWeek, "6-1"),
        (Field::DayOfWeek, "7-0"),
        (Field::DayOfWeek, "7-1/2"),
    ] {
        let problems = values(field, Slice::whole(text), SLOTS).expect_err(text);
        let way_out = problems[0].help.trim_start_matches("write `").trim_end_matches('`');
        assert!(values(field, Slice::whole(way_out), SLOTS).is_ok(), "{text}: {way_out}");
    }
}

#[test]
fn hashed_items_stay_within_their_range_and_keep_their_step() {
    for job in 0..200 {
        let key = format!("job-{job}");
        let read = |field, text| values(field, Slice::whole(text), Slots::of(&key)).expect(text);
        let only = |bits: Bits| bits.iter().collect::<Vec<_>>();
        assert!(only(read(Field::DayOfMonth, "H")).iter().all(|day| (1..=28).contains(day)));
        assert!(only(read(Field::Minute, "H(10-19)")).iter().all(|minute| (10..20).contains(minute)));
        let quarters = only(read(Field::Minute, "H/15"));
        assert_eq!(quarters.len(), 4);
        assert!(quarters[0] < 15 && quarters.windows(2).all(|pair| pair[1] - pair[0] == 15));
        assert_eq!(only(read(Field::Minute, "H(20-24)/5")), only(read(Field::Minute, "H(20-24)")));
        let tens = only(read(Field::Minute, "h(0-29)/10"));
        assert!(tens[0] < 10 && tens.len() == 3 && tens[2] < 30);
        assert!(only(read(Field::DayOfWeek, "H(5-7)")).iter().all(|day| [0, 5, 6].contains(day)));
    }
}
