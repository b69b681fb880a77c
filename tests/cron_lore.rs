//! The lore of cron as one table: what an expression says in a zone, and the UTC instants that follow, written by hand
//! from the calendar and the laws of the zones. Each row holds forward and backward, from wherever a replica starts.
//! More zones, and every expression against brute force: tests/schedule_oracle.rs.

use solocron::job::{Schedule, Tick};
use solocron::time::UtcMillis;

/// Of the job `nightly-backup`: what it is about, its expression, its zone, an instant, and the ticks that follow it.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str]);

/// In 2026 Berlin is an hour further from 29 March 01:00 UTC to 25 October 01:00 UTC.
const BERLIN: &str = "Europe/Berlin";
/// In 2026 New York is an hour further from 8 March 07:00 UTC to 1 November 06:00 UTC.
const NEW_YORK: &str = "America/New_York";
/// In 2026 Lord Howe is half an hour back from 4 April 15:00 UTC (at 02:00) to 3 October 15:30 UTC (at 02:00).
const LORD_HOWE: &str = "Australia/Lord_Howe";

#[rustfmt::skip]
const LEAP_DAYS: [Row<'_>; 6] = [
    ("every four years", "0 0 29 2 *", "UTC", "2026-01-01T00:00Z", &["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
    ("2100 has none", "0 0 29 2 *", "UTC", "2093-01-01T00:00Z", &["2096-02-29T00:00Z", "2104-02-29T00:00Z"]),
    ("2000 had one", "0 0 29 2 *", "UTC", "1996-03-01T00:00Z", &["2000-02-29T00:00Z", "2004-02-29T00:00Z"]),
    ("begins the day before, in UTC", "30 0 29 2 *", BERLIN, "2026-01-01T00:00Z", &["2028-02-28T23:30Z"]),
    ("the last of February", "0 12 L 2 *", "UTC", "2098-01-01T00:00Z",
        &["2098-02-28T12:00Z", "2099-02-28T12:00Z", "2100-02-28T12:00Z", "2101-02-28T12:00Z"]),
    ("or a Monday of February", "0 0 29 2 MON", "UTC", "2028-02-22T00:00Z",
        &["2028-02-28T00:00Z", "2028-02-29T00:00Z", "2029-02-05T00:00Z"]),
];

#[rustfmt::skip]
const MONTH_ENDS: [Row<'_>; 7] = [
    ("only months that have a 31st", "0 6 31 * *", "UTC", "2026-01-01T00:00Z",
        &["2026-01-31T06:00Z", "2026-03-31T06:00Z", "2026-05-31T06:00Z", "2026-07-31T06:00Z", "2026-08-31T06:00Z",
          "2026-10-31T06:00Z", "2026-12-31T06:00Z", "2027-01-31T06:00Z"]),
    ("February has no 30th", "0 6 30 * *", "UTC", "2026-01-01T00:00Z", &["2026-01-30T06:00Z", "2026-03-30T06:00Z"]),
    ("the last day, whichever it is", "59 23 L * *", NEW_YORK, "2026-01-15T00:00Z",
        &["2026-02-01T04:59Z", "2026-03-01T04:59Z", "2026-04-01T03:59Z", "2026-05-01T03:59Z"]),
    ("two days before it", "0 0 L-2 * *", "UTC", "2028-01-01T00:00Z",
        &["2028-01-29T00:00Z", "2028-02-27T00:00Z", "2028-03-29T00:00Z", "2028-04-28T00:00Z"]),
    ("the last working day", "0 17 LW * *", BERLIN, "2026-01-01T00:00Z",
        &["2026-01-30T16:00Z", "2026-02-27T16:00Z", "2026-03-31T15:00Z", "2026-04-30T15:00Z", "2026-05-29T15:00Z"]),
    ("the first begins in the month before", "0 0 1 * *", BERLIN, "2026-01-01T00:00Z",
        &["2026-01-31T23:00Z", "2026-02-28T23:00Z", "2026-03-31T22:00Z"]),
    ("the last Friday", "0 9 * * FRIL", "UTC", "2026-01-01T00:00Z",
        &["2026-01-30T09:00Z", "2026-02-27T09:00Z", "2026-03-27T09:00Z"]),
];

#[rustfmt::skip]
const DAYS: [Row<'_>; 6] = [
    ("both given: either", "0 0 13 * FRI", "UTC", "2026-04-01T00:00Z",
        &["2026-04-03T00:00Z", "2026-04-10T00:00Z", "2026-04-13T00:00Z", "2026-04-17T00:00Z", "2026-04-24T00:00Z"]),
    ("so this is not the first Friday", "0 0 1-3 * FRI", "UTC", "2026-02-28T00:00Z",
        &["2026-03-01T00:00Z", "2026-03-02T00:00Z", "2026-03-03T00:00Z", "2026-03-06T00:00Z", "2026-03-13T00:00Z"]),
    ("this is", "0 0 * * FRI#1", "UTC", "2026-02-28T00:00Z", &["2026-03-06T00:00Z", "2026-04-03T00:00Z"]),
    ("a field with a star is not given: both", "0 0 */2 * FRI", "UTC", "2026-02-01T00:00Z",
        &["2026-02-13T00:00Z", "2026-02-27T00:00Z", "2026-03-13T00:00Z"]),
    ("Sunday is 7", "0 0 * * 7", "UTC", "2026-02-01T00:00Z", &["2026-02-08T00:00Z", "2026-02-15T00:00Z"]),
    ("Sunday is 0", "0 0 * * 0", "UTC", "2026-02-01T00:00Z", &["2026-02-08T00:00Z", "2026-02-15T00:00Z"]),
];

#[rustfmt::skip]
const GAPS: [Row<'_>; 9] = [
    ("fixed: once, right after it", "30 2 * * *", BERLIN, "2026-03-27T12:00Z",
        &["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
    ("fixed times of one gap are one tick", "0,30 2,3 * * *", BERLIN, "2026-03-28T12:00Z",
        &["2026-03-29T01:00Z", "2026-03-29T01:30Z", "2026-03-30T00:00Z", "2026-03-30T00:30Z", "2026-03-30T01:00Z"]),
    ("other times are left out", "*/30 2 * * *", BERLIN, "2026-03-28T12:00Z",
        &["2026-03-30T00:00Z", "2026-03-30T00:30Z"]),
    ("each half hour of real time", "*/30 * * * *", BERLIN, "2026-03-29T00:00Z",
        &["2026-03-29T00:30Z", "2026-03-29T01:00Z", "2026-03-29T01:30Z"]),
    ("fixed", "30 2 * * *", NEW_YORK, "2026-03-06T12:00Z",
        &["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]),
    ("an hour that is not there", "15 */2 * * *", NEW_YORK, "2026-03-08T05:00Z",
        &["2026-03-08T05:15Z", "2026-03-08T08:15Z", "2026-03-08T10:15Z"]),
    ("fixed, of half an hour", "15 2 * * *", LORD_HOWE, "2026-10-02T12:00Z",
        &["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"]),
    ("after the half hour", "45 2 * * *", LORD_HOWE, "2026-10-02T12:00Z",
        &["2026-10-02T16:15Z", "2026-10-03T15:45Z", "2026-10-04T15:45Z"]),
    ("an hour that begins in it", "@hourly", LORD_HOWE, "2026-10-03T14:00Z",
        &["2026-10-03T14:30Z", "2026-10-03T16:00Z", "2026-10-03T17:00Z"]),
];

#[rustfmt::skip]
const OVERLAPS: [Row<'_>; 8] = [
    ("fixed: once, in the first pass", "30 2 * * *", BERLIN, "2026-10-23T12:00Z",
        &["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
    ("fixed: at the end of it", "0 3 * * *", BERLIN, "2026-10-24T12:00Z",
        &["2026-10-25T02:00Z", "2026-10-26T02:00Z"]),
    ("other times in both passes", "*/30 2 * * *", BERLIN, "2026-10-24T12:00Z",
        &["2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z", "2026-10-26T01:00Z"]),
    ("fixed", "30 1 * * *", NEW_YORK, "2026-10-30T12:00Z",
        &["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
    ("each hour of real time", "15 * * * *", NEW_YORK, "2026-11-01T05:00Z",
        &["2026-11-01T05:15Z", "2026-11-01T06:15Z", "2026-11-01T07:15Z"]),
    ("fixed, of half an hour", "45 1 * * *", LORD_HOWE, "2026-04-03T12:00Z",
        &["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"]),
    ("each half hour of real time", "*/30 * * * *", LORD_HOWE, "2026-04-04T14:00Z",
        &["2026-04-04T14:30Z", "2026-04-04T15:00Z", "2026-04-04T15:30Z"]),
    ("an hour and a half between two", "@hourly", LORD_HOWE, "2026-04-04T13:00Z",
        &["2026-04-04T14:00Z", "2026-04-04T15:30Z", "2026-04-04T16:30Z"]),
];

#[rustfmt::skip]
const INTERVALS: [Row<'_>; 5] = [
    // 2026 begins 1,767,225,600 s after the epoch: 19,635,840 times 90 s, and 360 s after a multiple of 11 minutes.
    ("multiples since the epoch", "@every 90s", "UTC", "2026-01-01T00:00Z",
        &["2026-01-01T00:01:30Z", "2026-01-01T00:03Z", "2026-01-01T00:04:30Z"]),
    ("of a duration that divides no hour", "@every 11m", "UTC", "2026-01-01T00:00Z",
        &["2026-01-01T00:05Z", "2026-01-01T00:16Z", "2026-01-01T00:27Z", "2026-01-01T00:38Z", "2026-01-01T00:49Z",
          "2026-01-01T01:00Z"]),
    ("the epoch was a Thursday", "@every 7d", "UTC", "2026-01-01T00:00Z", &["2026-01-08T00:00Z", "2026-01-15T00:00Z"]),
    ("of UTC in every zone", "@every 1d", NEW_YORK, "2026-03-06T12:00Z",
        &["2026-03-07T00:00Z", "2026-03-08T00:00Z", "2026-03-09T00:00Z"]),
    ("whatever is done to clocks", "@every 40m", BERLIN, "2026-10-25T00:00Z",
        &["2026-10-25T00:40Z", "2026-10-25T01:20Z", "2026-10-25T02:00Z"]),
];

/// The first eight bytes of sha256(`nightly-backup`, NUL, `minute`) are 49 modulo 60, 4 modulo 15 and 19 modulo 30; of
/// `hour` 5 modulo 24; of `day of month` 18 modulo 28.
#[rustfmt::skip]
const SLOTS: [Row<'_>; 5] = [
    ("a minute of each hour", "H * * * *", "UTC", "2026-01-01T00:00Z", &["2026-01-01T00:49Z", "2026-01-01T01:49Z"]),
    ("a minute and an hour", "H H * * *", BERLIN, "2026-01-01T00:00Z", &["2026-01-01T04:49Z", "2026-01-02T04:49Z"]),
    ("a day that every month has", "H H H * *", "UTC", "2026-01-01T00:00Z", &["2026-01-19T05:49Z", "2026-02-19T05:49Z"]),
    ("each quarter of an hour", "H/15 * * * *", "UTC", "2026-01-01T00:00Z",
        &["2026-01-01T00:04Z", "2026-01-01T00:19Z", "2026-01-01T00:34Z", "2026-01-01T00:49Z", "2026-01-01T01:04Z"]),
    ("within a range", "H(0-29) 3 * * *", "UTC", "2026-01-01T00:00Z", &["2026-01-01T03:19Z", "2026-01-02T03:19Z"]),
];

fn at(text: &str) -> UtcMillis {
    let with_seconds =
        if text.len() == "2026-01-01T00:00Z".len() { text.replace('Z', ":00Z") } else { text.into() };
    UtcMillis::from_timestamp(with_seconds.parse().expect("an instant"))
}

/// What one replica reads, on its own.
fn read((about, expression, zone, ..): Row<'_>) -> Schedule {
    Schedule::parse("nightly-backup", &[expression], zone)
        .unwrap_or_else(|errors| panic!("{about}: `{expression}`: {errors:?}"))
}

fn assert_rows(rows: &[Row<'_>]) {
    for row in rows {
        let (about, expression, zone, after, expected) = *row;
        let what = format!("{about}: `{expression}` in {zone}");
        let expected: Vec<Tick> = expected.iter().map(|text| Tick(at(text))).collect();

        let schedule = read(*row);
        let following = |tick: &Tick| schedule.next_after(tick.instant());
        let forward = std::iter::successors(schedule.next_after(at(after)), following);
        assert_eq!(forward.take(expected.len()).collect::<Vec<_>>(), expected, "{what}");

        let before = |tick: &Tick| schedule.at_or_before(UtcMillis(tick.as_millis() - 1));
        let last = expected.last().expect("a row has ticks").instant();
        let backward = std::iter::successors(schedule.at_or_before(last), before);
        let backward: Vec<Tick> = backward.take(expected.len()).collect();
        assert!(backward.iter().rev().eq(&expected), "{what}, backward: {backward:?}");

        assert_same_from_anywhere(*row, at(after), &expected);
    }
}

/// How many replicas start between two ticks, each at another moment.
const STARTS: i64 = 24;

/// A replica that starts at any moment plans the same next tick as those that were there all the while.
fn assert_same_from_anywhere(row: Row<'_>, after: UtcMillis, expected: &[Tick]) {
    let mut before = after.0;
    for tick in expected {
        for start in 0..STARTS {
            let started = UtcMillis(before + (tick.as_millis() - before - 1) * start / (STARTS - 1));
            let next = read(row).next_after(started);
            assert_eq!(next, Some(*tick), "{row:?} for a replica started at {started}");
        }
        before = tick.as_millis();
    }
}

#[test]
fn leap_days_come_every_four_years_and_not_in_2100() {
    assert_rows(&LEAP_DAYS);
}

#[test]
fn months_end_on_the_day_they_have() {
    assert_rows(&MONTH_ENDS);
}

#[test]
fn of_two_given_days_either_matches() {
    assert_rows(&DAYS);
}

#[test]
fn a_gap_of_three_zones_loses_no_fixed_time() {
    assert_rows(&GAPS);
}

#[test]
fn an_overlap_of_three_zones_doubles_no_fixed_time() {
    assert_rows(&OVERLAPS);
}

#[test]
fn intervals_are_counted_from_the_epoch_across_all_restarts() {
    assert_rows(&INTERVALS);
}

#[test]
fn hashed_slots_are_equal_on_all_replicas() {
    assert_rows(&SLOTS);
}
