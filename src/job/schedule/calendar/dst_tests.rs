//! Ticks at changes of the offset, spelled out by hand: gaps, overlaps, half hours, midnights and a skipped day.

use crate::job::{Schedule, Tick};
use crate::time::UtcMillis;

fn schedule(expression: &str, zone: &str) -> Schedule {
    Schedule::parse("job", &[expression], zone).expect("a good schedule")
}

fn at(text: &str) -> UtcMillis {
    UtcMillis::from_timestamp(text.parse().expect("an instant"))
}

/// Asserts exactly these ticks from the first to the last, in both directions.
fn assert_ticks(expression: &str, zone: &str, expected: &[&str]) {
    let schedule = schedule(expression, zone);
    let first = Tick(at(expected[0]));
    let forward = std::iter::successors(Some(first), |tick| schedule.next_after(tick.instant()));
    let forward: Vec<String> = forward.take(expected.len()).map(|tick| schedule.local_text(tick)).collect();
    let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(forward, expected, "{expression} in {zone}, forward");
    let last = at(&expected[expected.len() - 1]);
    let before = |tick: &Tick| schedule.at_or_before(UtcMillis(tick.as_millis() - 1));
    let backward = std::iter::successors(schedule.at_or_before(last), before);
    let mut backward: Vec<String> =
        backward.take(expected.len()).map(|tick| schedule.local_text(tick)).collect();
    backward.reverse();
    assert_eq!(backward, expected, "{expression} in {zone}, backward");
}

#[test]
fn a_fixed_time_in_a_gap_fires_once_right_after_it() {
    assert_ticks(
        "30 2 * * *",
        "Europe/Berlin",
        &["2026-03-28T02:30:00.000+01:00", "2026-03-29T03:00:00.000+02:00", "2026-03-30T02:30:00.000+02:00"],
    );
    assert_ticks(
        "0,15,59 2,3 * * *",
        "America/New_York",
        &[
            "2026-03-07T03:59:00.000-05:00",
            "2026-03-08T03:00:00.000-04:00",
            "2026-03-08T03:15:00.000-04:00",
            "2026-03-08T03:59:00.000-04:00",
            "2026-03-09T02:00:00.000-04:00",
        ],
    );
}

#[test]
fn a_fixed_time_in_an_overlap_fires_once_in_the_first_pass() {
    assert_ticks(
        "30 2 * * *",
        "Europe/Berlin",
        &["2026-10-24T02:30:00.000+02:00", "2026-10-25T02:30:00.000+02:00", "2026-10-26T02:30:00.000+01:00"],
    );
    assert_ticks(
        "0,30 1,2 * * *",
        "America/New_York",
        &["2026-11-01T01:00:00.000-04:00", "2026-11-01T01:30:00.000-04:00", "2026-11-01T02:00:00.000-05:00"],
    );
}

#[test]
fn a_fixed_time_does_not_fire_again_for_a_replica_that_starts_in_the_second_pass() {
    let berlin = schedule("30 2 * * *", "Europe/Berlin");
    let (first_pass, tomorrow) = (Tick(at("2026-10-25T00:30:00Z")), Tick(at("2026-10-26T01:30:00Z")));
    for started in
        ["2026-10-25T01:00:00Z", "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z", "2026-10-25T01:59:59Z"]
    {
        assert_eq!(berlin.next_after(at(started)), Some(tomorrow), "{started}");
        assert_eq!(berlin.at_or_before(at(started)), Some(first_pass), "{started}");
    }
}

#[test]
fn other_times_follow_real_time_through_gaps_and_overlaps() {
    assert_ticks(
        "*/30 2 * * *",
        "Europe/Berlin",
        &["2026-03-28T02:30:00.000+01:00", "2026-03-30T02:00:00.000+02:00"],
    );
    assert_ticks(
        "*/30 2 * * *",
        "Europe/Berlin",
        &[
            "2026-10-25T02:00:00.000+02:00",
            "2026-10-25T02:30:00.000+02:00",
            "2026-10-25T02:00:00.000+01:00",
            "2026-10-25T02:30:00.000+01:00",
            "2026-10-26T02:00:00.000+01:00",
        ],
    );
    assert_ticks(
        "@hourly",
        "Europe/Berlin",
        &["2026-03-29T01:00:00.000+01:00", "2026-03-29T03:00:00.000+02:00", "2026-03-29T04:00:00.000+02:00"],
    );
}

#[test]
fn half_an_hour_is_changed_on_lord_howe() {
    assert_ticks(
        "15 2 * * *",
        "Australia/Lord_Howe",
        &["2026-10-03T02:15:00.000+10:30", "2026-10-04T02:30:00.000+11:00", "2026-10-05T02:15:00.000+11:00"],
    );
    assert_ticks(
        "*/15 1 * * *",
        "Australia/Lord_Howe",
        &[
            "2026-04-05T01:30:00.000+11:00",
            "2026-04-05T01:45:00.000+11:00",
            "2026-04-05T01:30:00.000+10:30",
            "2026-04-05T01:45:00.000+10:30",
            "2026-04-06T01:00:00.000+10:30",
        ],
    );
}

#[test]
fn the_day_that_apia_skipped_is_one_gap() {
    assert_ticks(
        "30 2,14 * * *",
        "Pacific/Apia",
        &["2011-12-29T14:30:00.000-10:00", "2011-12-31T00:00:00.000+14:00", "2011-12-31T02:30:00.000+14:00"],
    );
    assert_ticks(
        "0 */12 * * *",
        "Pacific/Apia",
        &["2011-12-29T12:00:00.000-10:00", "2011-12-31T00:00:00.000+14:00", "2011-12-31T12:00:00.000+14:00"],
    );
}

#[test]
fn a_gap_at_midnight_neither_doubles_nor_drops_the_daily_job() {
    assert_ticks(
        "@daily",
        "Africa/Cairo",
        &["2026-04-23T00:00:00.000+02:00", "2026-04-24T01:00:00.000+03:00", "2026-04-25T00:00:00.000+03:00"],
    );
    assert_ticks(
        "@daily",
        "America/Santiago",
        &["2026-09-05T00:00:00.000-04:00", "2026-09-06T01:00:00.000-03:00", "2026-09-07T00:00:00.000-03:00"],
    );
    assert_ticks(
        "30 23 * * *",
        "America/Santiago",
        &["2026-04-03T23:30:00.000-03:00", "2026-04-04T23:30:00.000-03:00", "2026-04-05T23:30:00.000-04:00"],
    );
}

#[test]
fn a_gap_at_the_end_of_its_day_belongs_to_the_day_it_swallowed() {
    assert_ticks(
        "0 0 6 9 *",
        "America/Santiago",
        &["2026-09-06T01:00:00.000-03:00", "2027-09-06T00:00:00.000-03:00"],
    );
}

#[test]
fn a_daily_job_in_london_and_an_early_one_in_berlin_fire_once_on_the_spring_day() {
    assert_ticks(
        "@daily",
        "Europe/London",
        &["2026-03-28T00:00:00.000+00:00", "2026-03-29T00:00:00.000+00:00", "2026-03-30T00:00:00.000+01:00"],
    );
    assert_ticks(
        "30 1 * * *",
        "Europe/Berlin",
        &["2026-03-28T01:30:00.000+01:00", "2026-03-29T01:30:00.000+01:00", "2026-03-30T01:30:00.000+02:00"],
    );
}

#[test]
fn offsets_of_three_quarters_of_an_hour_are_exact() {
    assert_ticks(
        "0 * * * *",
        "Asia/Kathmandu",
        &["2026-01-01T05:00:00.000+05:45", "2026-01-01T06:00:00.000+05:45"],
    );
    assert_eq!(
        schedule("0 0 * * *", "Asia/Kathmandu").next_after(at("2026-01-01T00:00:00Z")),
        Some(Tick(at("2026-01-01T18:15:00Z")))
    );
}

#[test]
fn seconds_of_a_fixed_time_in_a_gap_are_one_tick() {
    assert_ticks(
        "*/20 30 2 * * *",
        "Europe/Berlin",
        &[
            "2026-03-28T02:30:40.000+01:00",
            "2026-03-29T03:00:00.000+02:00",
            "2026-03-30T02:30:00.000+02:00",
            "2026-03-30T02:30:20.000+02:00",
        ],
    );
}
