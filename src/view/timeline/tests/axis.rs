//! The times below.

use super::*;

/// The instant with this text.
fn instant(text: &str) -> UtcMillis {
    UtcMillis::from_timestamp(text.parse().expect("an instant"))
}

/// The marks of the axis of a window that ends its past at this time, in this zone.
fn axis(now: &str, span: TimelineSpan, zone: &str) -> Vec<(u16, String)> {
    let zone = TimeZone::get(zone).expect("a zone");
    let window = TimeWindow::of(instant(now), span, zone);
    let picture = Picture::of(&TimelineFacts::default(), &window, LaneOrder::ByReplica);
    assert_eq!(picture.axis.now_x, 900);
    picture.axis.marks.into_iter().map(|mark| (mark.x, mark.text)).collect()
}

/// The same without their places.
fn texts(now: &str, span: TimelineSpan, zone: &str) -> String {
    axis(now, span, zone).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" | ")
}

#[test]
fn the_axis_has_round_times_of_its_zone() {
    let noon = "2026-11-20T12:07:30Z";
    let places = [(113, "11:15"), (338, "11:30"), (563, "11:45"), (788, "12:00"), (1013, "12:15")];
    let hour = axis(noon, TimelineSpan::Hour, "UTC");
    assert_eq!(hour, places.map(|(x, text)| (x, text.to_owned())));
    for (span, zone, expected) in [
        (TimelineSpan::QuarterHour, "UTC", "11:55 | 12:00 | 12:05 | 12:10"),
        (TimelineSpan::Hour, "Asia/Kathmandu", "17:00 | 17:15 | 17:30 | 17:45 | 18:00"),
        (TimelineSpan::SixHours, "Europe/Berlin", "08:00 | 10:00 | 12:00 | 14:00"),
        (TimelineSpan::Day, "Europe/Berlin", "18:00 | Fri 20 | 06:00 | 12:00 | 18:00"),
        (
            TimelineSpan::Week,
            "Europe/Berlin",
            "Sat 14 | Sun 15 | Mon 16 | Tue 17 | Wed 18 | Thu 19 | Fri 20 | Sat 21 | Sun 22",
        ),
    ] {
        assert_eq!(texts(noon, span, zone), expected, "{zone}");
    }
}

#[test]
fn a_time_that_comes_twice_has_two_marks_and_one_that_is_skipped_has_none() {
    let berlin = |now: &str| texts(now, TimelineSpan::SixHours, "Europe/Berlin");
    assert_eq!(berlin("2026-10-25T04:00:00Z"), "Sun 25 | 02:00 CEST | 02:00 CET | 04:00 CET | 06:00 CET");
    assert_eq!(berlin("2026-03-29T04:00:00Z"), "Sun 29 | 03:00 CEST | 04:00 CEST | 06:00 CEST | 08:00 CEST");
    // Clocks in Cairo are put forward at midnight.
    assert_eq!(
        texts("2026-04-24T02:00:00Z", TimelineSpan::SixHours, "Africa/Cairo"),
        "22:00 EET | Fri 24 | 02:00 EEST | 04:00 EEST | 06:00 EEST"
    );
}

#[test]
fn instants_have_their_places_and_those_outside_are_at_the_edge() {
    let window = hour();
    for (second, x) in [
        (-3_600, 0),
        (-9_999_999, 0),
        (-3_597, 1),
        (-3_596, 1),
        (-4, 899),
        (0, 900),
        (3, 900),
        (4, 901),
        (1_200, 1_200),
        (9_999_999, 1_200),
    ] {
        assert_eq!(window.x(at(second)), x, "{second}");
    }
    assert_eq!((window.x(UtcMillis(i64::MIN)), window.x(UtcMillis(i64::MAX))), (0, 1_200));
    assert_eq!((window.from(), window.now(), window.to()), (at(-3_600), at(0), at(1_200)));
}

#[test]
fn the_picture_moves_by_whole_units_and_the_present_stays_exact() {
    for (span, unit) in [
        (TimelineSpan::QuarterHour, 1_000),
        (TimelineSpan::Hour, 4_000),
        (TimelineSpan::SixHours, 24_000),
        (TimelineSpan::Day, 96_000),
        (TimelineSpan::Week, 672_000),
    ] {
        let unit_from = NOON.div_euclid(unit) * unit;
        let window = |ms: i64| TimeWindow::of(UtcMillis(unit_from + ms), span, TimeZone::UTC);
        let (first, last, next) = (window(0), window(unit - 1), window(unit));
        assert_eq!((last.now(), last.from()), (UtcMillis(unit_from + unit - 1), first.from()), "{span:?}");
        for at in (-1_000..400).map(|units| UtcMillis(unit_from + units * unit)) {
            assert_eq!(last.x(at), first.x(at), "{span:?}");
            let moved = if (1..PICTURE_WIDTH).contains(&first.x(at)) { first.x(at) - 1 } else { next.x(at) };
            assert_eq!(next.x(at), moved, "{span:?}");
        }
        assert_eq!((last.x(last.now()), next.x(next.now())), (NOW_X, NOW_X), "{span:?}");
    }
}

#[test]
fn times_of_another_day_have_their_date() {
    let window = TimeWindow::of(instant("2026-11-20T00:10:00Z"), TimelineSpan::Hour, TimeZone::UTC);
    assert_eq!(window.clock(instant("2026-11-20T00:05:07.900Z")), "00:05:07");
    assert_eq!(window.clock(instant("2026-11-19T23:59:59Z")), "Thu 19 Nov 23:59:59");
}

#[test]
fn spans_are_named_as_in_addresses() {
    for span in TimelineSpan::ALL {
        assert_eq!(span.as_str().parse(), Ok(span));
    }
    assert_eq!("2h".parse::<TimelineSpan>(), Err("`2h` is none of: 15m 1h 6h 24h 7d".to_owned()));
}
