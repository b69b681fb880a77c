//! The schedule held against an oracle that walks through civil time minute by minute, and asks jiff only which instants
//! have it: around every kind of clock change of every distinct zone history of the bundled database, and at random.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, ToSpan};
use proptest::prelude::*;
use solocron::job::{Schedule, Tick};
use solocron::time::UtcMillis;

/// A minute of the clock on the wall, and the instants that have it: none in a gap, two in an overlap.
struct WallMinute {
    civil: DateTime,
    passes: Vec<Timestamp>,
    /// For a minute in a gap: the first instant after the gap.
    gap_end: Option<Timestamp>,
}

/// Every civil minute from one to another.
fn walk(zone: &TimeZone, from: DateTime, to: DateTime) -> Vec<WallMinute> {
    let civil_minutes = std::iter::successors(Some(from), |at| Some(*at + 1.minute()));
    let mut minutes: Vec<WallMinute> =
        civil_minutes.take_while(|at| *at <= to).map(|at| wall_minute(zone, at)).collect();
    let mut first_after = None;
    for minute in minutes.iter_mut().rev() {
        match minute.passes.first() {
            Some(pass) => first_after = Some(*pass),
            None => minute.gap_end = first_after,
        }
    }
    minutes
}

fn wall_minute(zone: &TimeZone, civil: DateTime) -> WallMinute {
    let at = |offset: Offset| offset.to_timestamp(civil).expect("within the calendar");
    let passes = match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![at(offset)],
        AmbiguousOffset::Gap { .. } => vec![],
        AmbiguousOffset::Fold { before, after } => vec![at(before), at(after)],
    };
    WallMinute { civil, passes, gap_end: None }
}

/// Five fields, each as a table of the values that it matches.
struct Crontab {
    fields: [Vec<bool>; 5],
    day_stars: [bool; 2],
    fixed_time: bool,
}

impl Crontab {
    /// Reads five fields of numbers.
    fn new(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
        let fields = std::array::from_fn(|i| {
            let (first, last) = bounds[i];
            (0..=last)
                .map(|value| words[i].split(',').any(|item| item_matches(item, value, first, last)))
                .collect()
        });
        let star = |i: usize| words[i].starts_with('*');
        Self { fields, day_stars: [star(2), star(4)], fixed_time: !star(0) && !star(1) }
    }

    fn matches(&self, at: DateTime) -> bool {
        let has = |field: usize, value: i8| self.fields[field][usize::try_from(value).expect("not negative")];
        let day_of_month = has(2, at.day());
        let day_of_week = has(4, at.weekday().to_sunday_zero_offset());
        let day = match self.day_stars {
            [false, false] => day_of_month || day_of_week,
            _ => day_of_month && day_of_week,
        };
        day && has(0, at.minute()) && has(1, at.hour()) && has(3, at.month())
    }

    /// The rule of the design, word for word: a fixed-time tick in a spring gap fires once, right after the gap; in an
    /// autumn overlap once, in the first pass. The others follow real time: nothing in the gap, both passes of the overlap.
    fn ticks(&self, minutes: &[WallMinute]) -> Vec<Timestamp> {
        let mut ticks = Vec::new();
        for minute in minutes.iter().filter(|minute| self.matches(minute.civil)) {
            match (self.fixed_time, minute.passes.as_slice()) {
                (true, []) => ticks.extend(minute.gap_end),
                (true, [first, ..]) => ticks.push(*first),
                (false, passes) => ticks.extend(passes),
            }
        }
        ticks.sort();
        ticks.dedup();
        ticks
    }
}

fn item_matches(item: &str, value: i64, first: i64, last: i64) -> bool {
    let number = |text: &str| text.parse::<i64>().expect("a number");
    let (base, step) = item.split_once('/').map_or((item, None), |(base, step)| (base, Some(number(step))));
    let (from, to) = match base.split_once('-') {
        Some((from, to)) => (number(from), number(to)),
        None if base == "*" => (first, last),
        None if step.is_some() => (number(base), last),
        None => (number(base), number(base)),
    };
    from <= value && value <= to && (value - from) % step.unwrap_or(1) == 0
}

/// A stretch of time whose every tick the oracle knows, and the civil minutes that it walks through for them.
struct Window {
    start: Timestamp,
    end: Timestamp,
    minutes: Vec<WallMinute>,
}

impl Window {
    fn around(zone: &TimeZone, middle: Timestamp, hours: i64) -> Self {
        let (start, end) =
            (middle - SignedDuration::from_hours(hours), middle + SignedDuration::from_hours(hours));
        // Wide enough for every civil time that one of these instants may have, or a gap next to them.
        let (from, to) =
            (Offset::UTC.to_datetime(start) - 51.hours(), Offset::UTC.to_datetime(end) + 51.hours());
        let whole = |at: DateTime| at.with().second(0).subsec_nanosecond(0).build().expect("a minute");
        Self { start, end, minutes: walk(zone, whole(from), whole(to)) }
    }

    /// Asserts that a schedule agrees with the oracle forward and backward: at and just before each tick of this window, at
    /// its ends, and all through the hours around its middle, where a replica may be started in the midst of an overlap.
    fn assert_agrees(&self, expression: &str, zone: &str) {
        let schedule = Schedule::parse("job", &[expression], zone).expect("a good schedule");
        let ticks: Vec<i64> =
            Crontab::new(expression).ticks(&self.minutes).iter().map(|at| at.as_millisecond()).collect();
        let (start, end) = (self.start.as_millisecond(), self.end.as_millisecond());
        let middle = start.midpoint(end);
        let beside_ticks = ticks.iter().flat_map(|tick| [tick - 1, *tick]);
        let around_middle = (-3..14).map(|step| middle + step * PROBE_STEP.as_millis() as i64);
        let probes = beside_ticks.chain(around_middle).chain([middle - 1, start, end]);
        for at in probes.filter(|at| (start..=end).contains(at)) {
            let what = || format!("{expression} in {zone} at {}", UtcMillis(at));
            // Past the ends of the window the oracle knows only that nothing is nearer.
            let (past, coming) = ticks.split_at(ticks.partition_point(|tick| *tick <= at));
            let next = coming.first().copied().filter(|tick| *tick <= end);
            let newest = past.last().copied().filter(|tick| *tick >= start);
            let found = schedule.next_after(UtcMillis(at)).map(Tick::as_millis);
            assert_eq!(found.filter(|tick| *tick <= end), next, "next after, {}", what());
            let found = schedule.at_or_before(UtcMillis(at)).map(Tick::as_millis);
            assert_eq!(found.filter(|tick| *tick >= start), newest, "at or before, {}", what());
        }
    }
}

/// Between probes that are at no tick: not a divisor of the hour, so that they fall on many minutes.
const PROBE_STEP: SignedDuration = SignedDuration::from_mins(17);

/// A zone for each distinct history of offsets from 2000 to 2030, with one change of each kind: the same offsets before and
/// after, at the same time of the day.
fn distinct_histories() -> Vec<(String, TimeZone, Vec<Timestamp>)> {
    let (start, end) = (instant("2000-01-01T00:00:00Z"), instant("2030-01-01T00:00:00Z"));
    let database = TimeZoneDatabase::bundled();
    let mut histories = BTreeMap::new();
    for name in database.available() {
        let zone = database.get(name.as_str()).expect("a listed zone");
        let changes: Vec<(Timestamp, Offset)> = zone
            .following(start)
            .map(|change| (change.timestamp(), change.offset()))
            .take_while(|(at, _)| *at < end)
            .collect();
        histories.entry((zone.to_offset(start), changes)).or_insert((name.as_str().to_owned(), zone));
    }
    let mut distinct = Vec::new();
    for ((first, changes), (name, zone)) in histories {
        let mut kinds = BTreeMap::new();
        let mut before = first;
        for (at, after) in changes {
            kinds.insert((before, after, before.to_datetime(at).time()), at);
            before = after;
        }
        kinds.retain(|(before, after, _), _| before != after);
        distinct.push((name, zone, kinds.into_values().collect()));
    }
    distinct
}

fn instant(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

fn assert_all_histories_agree(expressions: &[&str]) {
    let histories = distinct_histories();
    assert!(histories.len() > 100, "too few histories");
    for (name, zone, changes) in &histories {
        for change in changes {
            let window = Window::around(zone, *change, 26);
            for expression in expressions {
                window.assert_agrees(expression, name);
            }
        }
    }
}

#[test]
fn fixed_times_agree_with_the_oracle_around_every_kind_of_clock_change() {
    assert_all_histories_agree(&[
        "30 2 * * *",
        "30 2,14 * * *",
        "0 0 * * *",
        "0 3 * * *",
        "59 23 * * *",
        "15,45 0-4 * * *",
        "5/20 0-3,23 * * *",
        "0-59/20 0-23 * * *",
        "10 0 1,15,30 * 0",
        "30 1 * * 6,0",
    ]);
}

#[test]
fn other_times_agree_with_the_oracle_around_every_kind_of_clock_change() {
    assert_all_histories_agree(&[
        "*/30 2 * * *",
        "0 * * * *",
        "15 * * * *",
        "*/20 */2 * * *",
        "0 */6 * * *",
        "*/10 1-3 * * *",
        "*,0 0 * * *",
        "30 * */2 * 0",
    ]);
}

/// One field: a star, a stepped star, or a list of values and ranges.
fn any_field(first: u8, last: u8) -> impl Strategy<Value = String> {
    let item = (first..=last, first..=last, 1..=6u8, 0..4u8).prop_map(move |(a, b, step, form)| match form {
        0 => format!("{}-{}/{step}", a.min(b), a.max(b)),
        1 => format!("{a}/{step}"),
        _ => a.to_string(),
    });
    prop_oneof![
        2 => Just("*".to_owned()),
        1 => (1..=last).prop_map(|step| format!("*/{step}")),
        4 => prop::collection::vec(item, 1..4).prop_map(|items| items.join(",")),
    ]
}

prop_compose! {
    fn any_expression()(
        minute in any_field(0, 59),
        hour in any_field(0, 23),
        days in prop::sample::select(vec!["* * *", "*/2 * *", "1,9,17,25 * 0,3", "* 3,10,11 *", "2-28/3 * */2", "* * 6,0"]),
    ) -> String {
        format!("{minute} {hour} {days}")
    }
}

/// A zone and an instant, near a change of its clock where it has one.
fn any_place_and_time() -> impl Strategy<Value = (String, TimeZone, Timestamp)> {
    let database = TimeZoneDatabase::bundled();
    let zones: Vec<(String, TimeZone)> = database
        .available()
        .map(|name| (name.as_str().to_owned(), database.get(name.as_str()).expect("a listed zone")))
        .collect();
    // Offsets have been whole minutes since 1973, which the oracle's walk by minutes needs.
    let seconds = instant("1973-01-01T00:00:00Z").as_second()..instant("2080-01-01T00:00:00Z").as_second();
    (prop::sample::select(zones), seconds, -40_000..40_000i64).prop_map(|((name, zone), second, beside)| {
        let at = Timestamp::from_second(second).expect("within the calendar");
        let near = zone.following(at).next().map_or(at, |change| change.timestamp());
        (name, zone, near + SignedDuration::from_secs(beside))
    })
}

proptest! {
    #[test]
    fn random_patterns_agree_with_the_oracle_at_random_places_and_times(
        expression in any_expression(),
        (name, zone, at) in any_place_and_time(),
    ) {
        Window::around(&zone, at, 12).assert_agrees(&expression, &name);
    }

    #[test]
    fn next_and_newest_are_inverses_for_all_forms_together(
        (name, zone, at) in any_place_and_time(),
        expressions in prop::collection::vec(
            prop::sample::select(vec![
                "@every 100m", "H H * * *", "H/20 */3 L * *", "*/17 30 2 * * *", "0 0 LW * 5#2", "30 2 15W * 0L",
                "@hourly", "5 0 29 2 *", "0 12 L-3 */2 ?", "@weekly", "59 59 23 31 12 *", "* 0-3 1 * MON",
            ]), 1..4),
        millis in 0..1_000i64,
    ) {
        let schedule = Schedule::parse("job", &expressions, &name).expect("a good schedule");
        let at = UtcMillis(at.as_millisecond() + millis);
        let next = schedule.next_after(at).expect("within the calendar");
        let newest = schedule.at_or_before(at).expect("since 1900");
        prop_assert!(newest.instant() <= at && at < next.instant());
        prop_assert_eq!(schedule.at_or_before(next.instant()), Some(next));
        prop_assert_eq!(schedule.at_or_before(UtcMillis(next.as_millis() - 1)), Some(newest));
        prop_assert_eq!(schedule.next_after(newest.instant()), Some(next));
        prop_assert_eq!(schedule.next_after(UtcMillis(newest.as_millis() - 1)), Some(newest));
        let local = zone.to_datetime(next.instant().timestamp()).strftime("%FT%T").to_string();
        prop_assert!(schedule.local_text(next).starts_with(&local));
    }
}
