//! Schedules by their public functions: fingerprints, local times, unions, bounds, and errors of all texts together.

use super::*;

fn schedule(expressions: &[&str], zone: &str) -> Schedule {
    Schedule::parse("job", expressions, zone).expect("a good schedule")
}

fn at(text: &str) -> UtcMillis {
    UtcMillis::from_timestamp(text.parse().expect("an instant"))
}

fn ticks(schedule: &Schedule, after: &str, count: usize) -> Vec<String> {
    schedule.ticks_after(at(after)).take(count).map(|tick| schedule.local_text(tick)).collect()
}

/// A changed fingerprint would make every running cluster treat its schedules as edited.
#[test]
fn fingerprints_are_the_same_for_ever() {
    assert_eq!(schedule(&["30 2 * * *"], "Europe/Berlin").fingerprint(), "72c5d554771a77e9");
    assert_eq!(schedule(&["H H * * *", "@every 90s"], "UTC").fingerprint(), "a9fb44cc9fd7e37e");
}

#[test]
fn fingerprints_tell_schedules_apart_and_nothing_else() {
    let base = schedule(&["0 1 * * *", "0 2 * * *"], "Europe/Berlin");
    for same in [
        schedule(&["0 2 * * *", "0 1 * * *"], "Europe/Berlin"),
        schedule(&["  0\t1 * *  *", "0 2 * * *", "0 1 * * *"], "europe/BERLIN"),
        Schedule::parse("another job", &["0 1 * * *", "0 2 * * *"], "Europe/Berlin").expect("good"),
    ] {
        assert_eq!(base.fingerprint(), same.fingerprint(), "{same:?}");
    }
    let hashed = |job| Schedule::parse(job, &["H 1 * * *"], "Europe/Berlin").expect("good");
    let different = [
        base,
        schedule(&["0 1 * * *"], "Europe/Berlin"),
        schedule(&["0 1 * * *", "0 2 * * *"], "Europe/Paris"),
        hashed("a"),
        hashed("b"),
    ];
    let distinct: std::collections::BTreeSet<_> = different.iter().map(Schedule::fingerprint).collect();
    assert_eq!(distinct.len(), different.len());
    assert!(distinct.iter().all(|print| print.len() == 16 && print.bytes().all(|b| b.is_ascii_hexdigit())));
}

#[test]
fn a_union_has_the_ticks_of_each_expression_and_equal_ones_once() {
    let union = schedule(&["0 6 * * *", "0 */6 * * *", "@every 6h"], "UTC");
    let expected = ["06", "12", "18"].map(|hour| format!("2026-05-01T{hour}:00:00.000+00:00"));
    assert_eq!(ticks(&union, "2026-05-01T00:00:00Z", 3), expected);
    assert_eq!(union.at_or_before(at("2026-05-01T06:00:00Z")), Some(Tick(at("2026-05-01T06:00:00Z"))));
}

#[test]
fn next_is_strictly_after_and_before_includes_the_instant_to_the_millisecond() {
    let hourly = schedule(&["@hourly"], "UTC");
    let one = at("2026-01-01T01:00:00Z");
    assert_eq!(hourly.next_after(UtcMillis(one.0 - 1)), Some(Tick(one)));
    assert_eq!(hourly.next_after(one), Some(Tick(at("2026-01-01T02:00:00Z"))));
    assert_eq!(hourly.at_or_before(one), Some(Tick(one)));
    assert_eq!(hourly.at_or_before(UtcMillis(one.0 + 999)), Some(Tick(one)));
    assert_eq!(hourly.at_or_before(UtcMillis(one.0 - 1)), Some(Tick(at("2026-01-01T00:00:00Z"))));
}

#[test]
fn ticks_reach_from_1900_to_the_end_of_the_calendar_and_no_further() {
    for expressions in [["0 0 * * *"], ["*/10 * * * *"], ["@every 7s"]] {
        for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"] {
            let schedule = schedule(&expressions, zone);
            let first = schedule.next_after(UtcMillis(i64::MIN)).expect("ticks from 1900 on");
            assert!(first.to_string().starts_with("1900-01-01T"), "{schedule:?} {first}");
            assert_eq!(schedule.at_or_before(first.instant()), Some(first));
            assert_eq!(schedule.at_or_before(UtcMillis(first.as_millis() - 1)), None);
            assert_eq!(schedule.at_or_before(UtcMillis(i64::MIN)), None);
            let last = schedule.at_or_before(UtcMillis(i64::MAX)).expect("ticks to the end");
            assert!(last.to_string().starts_with("9999-12-"), "{schedule:?} {last}");
            assert_eq!(schedule.next_after(last.instant()), None);
            assert_eq!(schedule.next_after(UtcMillis(last.as_millis() - 1)), Some(last));
            assert_eq!(schedule.next_after(UtcMillis(i64::MAX)), None);
        }
    }
}

#[test]
fn the_period_is_the_shortest_distance_of_the_coming_ticks() {
    let now = at("2026-05-01T00:00:30Z");
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    assert_eq!(schedule(&["*/5 * * * *"], "UTC").shortest_period(now), minutes(5));
    assert_eq!(schedule(&["0,50 * * * *"], "UTC").shortest_period(now), minutes(10));
    assert_eq!(schedule(&["@every 99999999d"], "UTC").shortest_period(now), Duration::MAX);
}

#[test]
fn problems_of_all_texts_are_told_at_once_each_with_its_text() {
    let errors =
        Schedule::parse("job", &["60 * * * *", "@daily", "* * *"], "Mars").expect_err("three are wrong");
    let places: Vec<_> = errors.iter().map(|error| (error.expression, error.span.clone())).collect();
    assert_eq!(places, [(Some(0), 0..2), (Some(2), 0..5), (None, 0..4)]);
    assert_eq!(
        errors[0].to_string(),
        "minute `60` is out of range, expected 0-59; a full turn is minute `0`"
    );
}

#[test]
fn an_empty_list_is_refused() {
    let errors = Schedule::parse("job", &[], "UTC").expect_err("no expression");
    assert_eq!(errors[0].message, "schedule is an empty list");
}

#[test]
fn what_was_written_can_be_shown() {
    let berlin = schedule(&[" 30  2 * * * ", "@every 5m"], "europe/berlin");
    assert_eq!(berlin.expressions().collect::<Vec<_>>(), ["30 2 * * *", "@every 5m"]);
    assert_eq!(berlin.zone_name(), "Europe/Berlin");
    let shown = r#"Schedule { expressions: ["30 2 * * *", "@every 5m"], zone: "Europe/Berlin" }"#;
    assert_eq!(format!("{berlin:?}"), shown);
}

#[test]
fn ticks_are_shown_with_the_offset_of_their_instant() {
    let berlin = schedule(&["30 2 * * *"], "Europe/Berlin");
    let expected =
        ["2026-03-28T02:30:00.000+01:00", "2026-03-29T03:00:00.000+02:00", "2026-03-30T02:30:00.000+02:00"];
    assert_eq!(ticks(&berlin, "2026-03-28T00:00:00Z", 3), expected);
}
