//! What stands behind the marks.

use super::*;

/// The bands of a kind: where they are, and their words.
fn of(picture: &Picture, kind: BandKind) -> Vec<(BandLanes, u16, u16, &str)> {
    let bands = picture.bands.iter().filter(|band| band.kind == kind);
    bands.map(|band| (band.lanes, band.x, band.width, band.text.as_str())).collect()
}

#[test]
fn a_replica_is_hatched_from_four_seconds_after_its_last_heartbeat() {
    let mut known = Known::nothing();
    known.peers = vec![peer("node-a", -4), peer("node-b", -404)];
    let picture = known.by_replica();
    assert_eq!(
        of(&picture, BandKind::Silent),
        [(BandLanes::One(1), 800, 100, "node-b: no heartbeat since 11:53:16")]
    );
    assert_eq!(of(&known.by_job(), BandKind::Silent), []);
}

#[test]
fn a_replica_that_drains_is_dashed_since_it_told_so() {
    let mut known = Known::nothing();
    known.peers[0].beat.draining = true;
    let picture = known.by_replica();
    assert_eq!(
        of(&picture, BandKind::Draining),
        [(BandLanes::One(0), 900, 1, "node-a: draining since 12:00:00")],
        "when it began is not known"
    );
    let known = known.told("node-a", -100, NewsKind::Draining).told("node-b", -50, NewsKind::Draining);
    assert_eq!(
        of(&known.by_replica(), BandKind::Draining),
        [(BandLanes::One(0), 875, 25, "node-a: draining since 11:58:20")]
    );
}

#[test]
fn a_store_that_half_of_the_replicas_do_not_reach_is_away_for_all_lanes() {
    let known = Known::nothing()
        .told("node-a", -3_000, NewsKind::StoreReached)
        .told("node-a", -1_200, NewsKind::StoreLost)
        .told("node-a", -1_000, NewsKind::StoreReached);
    let all = [(BandLanes::All, 600, 50, "store away, 11:40:00 to 11:43:20")];
    assert_eq!(of(&known.by_replica(), BandKind::StoreAway), all, "one of two");
    assert_eq!(of(&known.by_job(), BandKind::StoreAway), all);
    let mut three = known;
    three.peers.push(peer("node-c", 0));
    assert_eq!(
        of(&three.by_replica(), BandKind::StoreAway),
        [(BandLanes::One(0), 600, 50, "node-a: store away, 11:40:00 to 11:43:20")],
        "one of three"
    );
    assert_eq!(of(&three.by_job(), BandKind::StoreAway), [], "it has no lane");
    let two = three.told("node-b", -1_160, NewsKind::StoreLost).told("node-b", -920, NewsKind::StoreReached);
    assert_eq!(
        of(&two.by_replica(), BandKind::StoreAway),
        [
            (BandLanes::One(0), 600, 10, "node-a: store away, 11:40:00 to 11:40:40"),
            (BandLanes::All, 610, 40, "store away, 11:40:40 to 11:43:20"),
            (BandLanes::One(1), 650, 20, "node-b: store away, 11:43:20 to 11:44:40"),
        ]
    );
}

#[test]
fn a_store_that_is_still_away_is_away_up_to_now_though_all_are_silent() {
    let mut known = Known::nothing()
        .told("node-a", -200, NewsKind::StoreLost)
        .told("node-b", -200, NewsKind::StoreLost)
        .told("node-b", -190, NewsKind::StoreLost);
    known.peers = vec![peer("node-a", -201), peer("node-b", -201), peer("node-c", -3_000)];
    assert_eq!(
        of(&known.by_replica(), BandKind::StoreAway),
        [(BandLanes::All, 850, 50, "store away, 11:56:40 to now")]
    );
}

#[test]
fn a_change_of_the_store_is_one_line_whoever_tells_it() {
    let era = || NewsKind::StoreChanged("new era".to_owned());
    let known = Known::nothing()
        .told("node-b", -598, era())
        .told("node-a", -600, era())
        .told("node-a", -200, era())
        .told("node-a", -400, NewsKind::ClockStepped)
        .told("elsewhere", -400, NewsKind::ClockStepped);
    let picture = known.by_replica();
    assert_eq!(
        of(&picture, BandKind::StoreChanged),
        [(BandLanes::All, 750, 0, "new era, 11:50:00"), (BandLanes::All, 850, 0, "new era, 11:56:40")]
    );
    assert_eq!(
        of(&picture, BandKind::ClockStepped),
        [(BandLanes::One(0), 800, 0, "node-a: clock stepped, 11:53:20")]
    );
    let by_job = known.by_job();
    assert_eq!(of(&by_job, BandKind::StoreChanged).len(), 2);
    assert_eq!(of(&by_job, BandKind::ClockStepped), []);
}

#[test]
fn a_pause_is_a_band_on_the_row_of_its_job() {
    let pausing = |until: Option<UtcMillis>| Pausing { until, at: at(-400), by: "ann".into(), why: None };
    for (until, place, text) in [
        (Some(at(400)), Some((800, 200)), "`payout`: paused by ann, 11:53:20 to 12:06:40"),
        (Some(at(-200)), Some((800, 50)), "`payout`: paused by ann, 11:53:20 to 11:56:40"),
        (
            Some(Pausing::UNTIL_RESUMED),
            Some((800, 400)),
            "`payout`: paused by ann, 11:53:20 until it is resumed",
        ),
        (None, None, ""),
    ] {
        let mut known = Known::nothing();
        known.pausing.push(("payout".parse().expect("a name"), pausing(until)));
        let picture = known.by_job();
        let expected: Vec<_> =
            place.map(|(x, width)| (BandLanes::One(1), x, width, text)).into_iter().collect();
        assert_eq!(of(&picture, BandKind::Paused), expected);
        let is_now = until.is_some_and(|until| until > at(0));
        assert_eq!(picture.lanes[1].note.as_deref(), is_now.then_some("paused"));
        assert_eq!(of(&known.by_replica(), BandKind::Paused), []);
    }
}

#[test]
fn an_outage_within_a_second_is_told_by_how_long_it_lasted() {
    let mut known = Known::nothing().told("node-a", -600, NewsKind::StoreLost);
    let reached = |ms| TimelineNews {
        node: node("node-a"),
        at: UtcMillis(at(-600).0 + ms),
        what: NewsKind::StoreReached,
    };
    for (ms, text) in [(350, "store away, 11:50:00 for 350ms"), (1_000, "store away, 11:50:00 to 11:50:01")] {
        known.news.truncate(1);
        known.news.push(reached(ms));
        assert_eq!(of(&known.by_replica(), BandKind::StoreAway), [(BandLanes::All, 750, 1, text)]);
    }
}

#[test]
fn what_was_not_read_is_told_in_the_lane_of_its_job() {
    let known = Known::nothing().read_from("payout", -1_800);
    assert_eq!(
        of(&known.by_job(), BandKind::Unread),
        [(
            BandLanes::One(1),
            0,
            450,
            "`payout`: not shown before 11:30:00: older than the entries that were read"
        )]
    );
    // Nothing of it is in the window, or none of its ticks.
    for second in [-3_601, -3_600, -7_200] {
        let known = Known::nothing().read_from("payout", second);
        assert_eq!(of(&known.by_job(), BandKind::Unread), [], "{second}");
    }
    let window = TimeWindow::of(at(60), TimelineSpan::Hour, TimeZone::UTC);
    let first_tick = Known::nothing().read_from("payout", -2_700);
    assert_eq!(of(&first_tick.drawn(&window, LaneOrder::ByJob), BandKind::Unread), []);
}

#[test]
fn by_replica_the_lanes_are_incomplete_where_a_job_was_not_read() {
    let one = Known::nothing().read_from("payout", -1_800);
    let of_one = "`payout`: not shown before 11:30:00: older than the entries that were read";
    assert_eq!(of(&one.by_replica(), BandKind::Unread), [(BandLanes::All, 0, 450, of_one)]);
    let two = one.read_from("backup", 60);
    let of_two =
        "`backup` and another job: not all is shown before 12:00:00: older than the entries that were read";
    assert_eq!(of(&two.by_replica(), BandKind::Unread), [(BandLanes::All, 0, 900, of_two)]);
}

#[test]
fn many_bands_hide_nothing_of_what_was_not_read() {
    let flapping = (0..400).map(|number| (number, -3_500 + number * 8));
    let known = flapping.fold(Known::nothing().read_from("backup", -60), |known, (number, second)| {
        let what = if number % 2 == 0 { NewsKind::StoreLost } else { NewsKind::StoreReached };
        known.told("node-a", second, what)
    });
    assert_eq!(of(&known.by_replica(), BandKind::Unread).len(), 1);
}

#[test]
fn the_number_of_bands_is_bounded_and_the_newest_remain() {
    let flapping = (0..400).map(|number| (number, -3_500 + number * 8));
    let known = flapping.fold(Known::nothing(), |known, (number, second)| {
        let what = if number % 2 == 0 { NewsKind::StoreLost } else { NewsKind::StoreReached };
        known.told("node-a", second, what)
    });
    let bands = known.by_replica().bands;
    assert_eq!(bands.len(), 100);
    assert!(bands.last().is_some_and(|band| band.x >= 800), "{:?}", bands.last());
}
