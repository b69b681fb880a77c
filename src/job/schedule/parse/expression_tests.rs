//! Tables of whole expressions: which rule they follow, and how wrong ones are refused.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Expression, Vec<ScheduleProblem>> {
    Expression::parse(text, Slots::of("job"))
}

fn rule(text: &str) -> Rule {
    match parse(text).expect(text) {
        Expression::Civil(_, rule) => rule,
        Expression::Every(_) => panic!("{text} has no rule"),
    }
}

#[test]
fn a_time_is_fixed_when_neither_minute_nor_hour_begins_with_a_star() {
    for fixed in [
        "30 2 * * *",
        "30 2,14 * * *",
        "0-59/5 0-23 * * *",
        "H H * * *",
        "* 30 2 * * *",
        "@daily",
        "5/15 2 * * *",
    ] {
        assert_eq!(rule(fixed), Rule::FixedTime, "{fixed}");
    }
    for real in
        ["*/30 2 * * *", "15 * * * *", "15 */2 * * *", "*,5 2 * * *", "@hourly", "H * * * *", "0 * 2 * * *"]
    {
        assert_eq!(rule(real), Rule::RealTime, "{real}");
    }
}

#[test]
fn every_refused_expression_says_where_what_and_the_way_out() {
    let five = "the fields are minute hour day-of-month month day-of-week";
    let never = "never matches any date";
    let cases = [
        ("", 0..0, "is empty", "write five fields, e.g. `30 2 * * *`, or `@daily`"),
        ("* * * *", 0..7, "has 4 fields, expected 5, or 6 with seconds first", five),
        (" * ", 1..2, "has 1 field, expected 5, or 6 with seconds first", five),
        ("0 0 0 1 1 * 2027", 0..16, "has 7 fields, expected 5, or 6 with seconds first", NO_YEAR),
        ("0 0 12 1 1 2027", 11..15, "day of week `2027` is out of range, expected 0-7 or SUN-SAT", NO_YEAR),
        (
            "0 0 12 1 1 2027-2030",
            11..15,
            "day of week `2027` is out of range, expected 0-7 or SUN-SAT",
            NO_YEAR,
        ),
        ("0 0 12 1 1 8", 11..12, "day of week `8` is out of range, expected 0-7 or SUN-SAT", NO_YEAR),
        (
            "0 0 1 1 8",
            8..9,
            "day of week `8` is out of range, expected 0-7 or SUN-SAT",
            "write 0-7 or SUN-SAT",
        ),
        (
            "CRON_TZ=Asia/Tokyo 0 6 * * *",
            0..18,
            "`CRON_TZ=Asia/Tokyo` is not part of an expression",
            "set the job's `timezone`",
        ),
        ("@dayly", 0..6, "nickname `@dayly` is not known", "did you mean `@daily`?"),
        (
            "@fortnightly",
            0..12,
            "nickname `@fortnightly` is not known",
            "the nicknames are @yearly @annually @monthly @weekly @daily @midnight @hourly @every",
        ),
        (
            " @reboot",
            1..8,
            "`@reboot` is not an instant that all replicas share",
            "write when it runs, e.g. `@daily`, or start it with the machine",
        ),
        ("@daily 5", 7..8, "`@daily` is followed by `5`", "write `@daily` alone"),
        ("@every", 0..6, "`@every` has no duration", "write `@every 5m`"),
        ("@every  5min", 9..12, "duration `5min` has an unknown unit `min`", "write `5m`"),
        (
            "@every 1500ms",
            7..13,
            "interval `1500ms` is not a number of whole seconds from 1 on",
            "write at least `1s`, without `ms`",
        ),
        ("0 0 30 2 *", 4..8, never, "February has at most 29 days"),
        ("0 0 31 4,6 *", 4..10, never, "April and June have at most 30 days"),
        ("0 0 31W 9,11,2 ?", 4..14, never, "February, September and November have at most 30 days"),
        ("0 0 0 L-29 feb *", 6..14, never, "February has at most 29 days"),
        (
            "0 0 */31 * 1#2",
            4..14,
            never,
            "no date matches both day fields: give days that meet, or `*` for one",
        ),
    ];
    for (text, span, message, help) in cases {
        let expected = ScheduleProblem { span, message: message.into(), help: help.into() };
        assert_eq!(parse(text).expect_err(text), [expected], "{text}");
    }
}

#[test]
fn problems_of_all_fields_are_told_at_once_from_left_to_right() {
    let problems = parse("60 24 0 13 8").expect_err("all wrong");
    assert_eq!(
        problems.iter().map(|p| p.span.clone()).collect::<Vec<_>>(),
        [0..2, 3..5, 6..7, 8..10, 11..12]
    );
}

#[test]
fn dates_that_come_seldom_are_not_taken_for_impossible() {
    for seldom in [
        "0 0 29 2 *",
        "0 0 29 2 */6",
        "0 0 * 2 1#5",
        "0 0 31 2 MON",
        "0 0 31 1,2 *",
        "0 0 L-28 2 *",
        "0 0 29W 2 *",
    ] {
        assert!(parse(seldom).is_ok(), "{seldom}");
    }
}

#[test]
fn only_an_item_h_makes_a_schedule_depend_on_its_job() {
    for hashed in ["H * * * *", "0 2,h(3-4) * * *", "0 0 H/7 * *"] {
        assert!(Expression::is_hashed(hashed), "{hashed}");
    }
    for plain in ["0 0 * MAR THU", "@hourly", "@every 1h"] {
        assert!(!Expression::is_hashed(plain), "{plain}");
    }
}

proptest! {
    #[test]
    fn every_problem_of_any_text_points_at_something_and_says_the_way_out(
        text in prop_oneof![
            "[0-9*?,/#@LWHhMONFRIé() -]{0,24}",
            "[0-9*,/-]{1,4}( [0-9*?,/#LWH()é-]{1,5}){4,5}",
        ],
    ) {
        for problem in parse(&text).err().into_iter().flatten() {
            let wrong = text.get(problem.span.clone());
            prop_assert!(wrong.is_some_and(|wrong| !wrong.is_empty() || text.trim().is_empty()), "{problem:?}");
            prop_assert!(!problem.message.is_empty() && !problem.help.is_empty());
        }
    }
}
