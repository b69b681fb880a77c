use super::*;

fn at(ms: u64) -> BootInstant {
    BootInstant(Duration::from_millis(ms))
}

fn reading(sent: u64, received: u64, store: i64) -> ClockReading {
    ClockReading { sent: at(sent), received: at(received), store: UtcMillis(store) }
}

fn era(name: &str) -> Era {
    Era(name.into())
}

fn calm(store_clock: &StoreClock, now: u64) -> Duration {
    let node = NodeName::parse("a").expect("name");
    store_clock
        .caller(&node, at(now), Known { largest_lease: Duration::ZERO, mark: None, answered: None })
        .calm
}

#[test]
fn the_stores_time_is_told_from_the_middle_of_the_exchange() {
    let store_clock = StoreClock::first(reading(1_000, 1_020, 501_010), era("e"));
    assert_eq!(store_clock.store_time(at(2_000)), UtcMillis(502_000));
}

#[test]
fn calm_grows_from_the_first_reading_and_begins_anew_with_a_step_or_an_era() {
    let mut store_clock = StoreClock::first(reading(6_000, 6_000, 506_000), era("e"));
    assert_eq!(store_clock.learn(reading(9_000, 9_000, 509_030), &era("e")), ClockNews::Steady);
    assert_eq!(calm(&store_clock, 10_000), Duration::from_secs(4));
    assert_eq!(store_clock.learn(reading(10_000, 10_000, 530_000), &era("e")), ClockNews::Stepped);
    assert_eq!(calm(&store_clock, 11_000), Duration::from_secs(1));
    assert_eq!(store_clock.learn(reading(12_000, 12_000, 532_000), &era("f")), ClockNews::NewEra);
    assert_eq!(calm(&store_clock, 12_000), Duration::ZERO);
}

#[test]
fn nobody_is_calm_about_a_clock_that_nobody_watched() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    assert_eq!(calm(&store_clock, 4_000), Duration::from_secs(4));
    assert_eq!(calm(&store_clock, 4_001), Duration::ZERO, "the last look is too long ago");
    assert_eq!(store_clock.learn(reading(9_000, 9_010, 509_000), &era("e")), ClockNews::Steady);
    assert_eq!(calm(&store_clock, 10_010), Duration::from_secs(1), "calm begins anew with the next look");
}

#[test]
fn a_slow_answer_is_no_step() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    assert_eq!(store_clock.learn(reading(1_000, 2_600, 501_000), &era("e")), ClockNews::Steady);
    assert_eq!(store_clock.learn(reading(3_000, 5_000, 505_000), &era("e")), ClockNews::Steady);
    assert_eq!(store_clock.store_time(at(6_000)), UtcMillis(506_000), "the quick reading is believed");
    assert_eq!(store_clock.learn(reading(6_000, 6_000, 506_000), &era("e")), ClockNews::Steady);
}

#[test]
fn what_an_answer_showed_after_the_last_heartbeat_was_heard_too() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    store_clock.hear(UtcMillis(500_900));
    assert_eq!(store_clock.heard(), UtcMillis(0), "it is of this life");
    store_clock.learn(reading(1_000, 1_000, 501_000), &era("f"));
    assert_eq!(store_clock.heard(), UtcMillis(500_900));
}

#[test]
fn what_was_heard_before_the_stores_clock_was_set_back_is_kept() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    assert_eq!(store_clock.learn(reading(1_000, 1_000, 560_000), &era("e")), ClockNews::Stepped);
    assert_eq!(store_clock.heard(), UtcMillis(0), "nothing lies ahead of a clock that was set forward");
    assert_eq!(store_clock.learn(reading(2_000, 2_000, 502_000), &era("e")), ClockNews::Stepped);
    assert_eq!(store_clock.heard(), UtcMillis(561_000), "it may have been set back just now");
    assert_eq!(store_clock.earlier(UtcMillis(0), at(2_000)), UtcMillis(0), "and nothing was forgotten");
    store_clock.learn(reading(3_000, 3_000, 503_000), &era("f"));
    assert_eq!(store_clock.earlier(UtcMillis(561_000), at(3_000)), UtcMillis(561_000));
}

#[test]
fn a_wall_clock_is_ahead_by_what_the_reading_tells_give_or_take_half_its_time() {
    let store_clock = StoreClock::first(reading(1_000, 1_020, 501_010), era("e"));
    assert_eq!(store_clock.ahead(UtcMillis(502_600), at(2_020)), (580, Duration::from_millis(20)));
}

#[test]
fn what_was_heard_belongs_to_earlier_eras() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    assert_eq!(store_clock.heard(), UtcMillis(0));
    store_clock.learn(reading(1_000, 1_000, 501_000), &era("f"));
    assert_eq!(store_clock.heard(), UtcMillis(500_000));
    store_clock.learn(reading(2_000, 2_000, 502_000), &era("f"));
    store_clock.distrust(at(2_000));
    assert_eq!(store_clock.heard(), UtcMillis(501_000));
}

#[test]
fn a_clock_that_a_failover_sets_back_may_have_gone_on_until_then() {
    let mut store_clock = StoreClock::first(reading(0, 0, 4_100_000), era("e"));
    store_clock.learn(reading(1_000, 1_000, 501_000), &era("f"));
    let ahead = UtcMillis(4_102_000);
    assert_eq!(
        (store_clock.earlier(ahead, at(0)), store_clock.heard()),
        (UtcMillis(4_101_000), UtcMillis(4_101_000))
    );

    let mut away = StoreClock::first(reading(0, 0, 4_100_000), era("e"));
    away.learn(reading(7_200_000, 7_200_000, 7_700_000), &era("f"));
    assert_eq!((away.earlier(ahead, at(0)), away.heard()), (UtcMillis(4_100_000), UtcMillis(4_100_000)));
}

#[test]
fn a_store_that_forgot_in_an_outage_lost_nothing_after_its_last_shown_time() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    store_clock.hear(UtcMillis(500_700));
    store_clock.learn(reading(7_200_000, 7_200_000, 7_700_000), &era("e"));
    store_clock.distrust(at(7_200_000));
    let now = at(7_200_000);
    assert_eq!(
        (store_clock.earlier(UtcMillis(0), now), store_clock.heard()),
        (UtcMillis(500_700), UtcMillis(500_700))
    );
}

#[test]
fn what_a_clock_that_was_ahead_has_shown_hides_no_later_loss() {
    let earlier =
        |store_clock: &StoreClock, ms: u64| store_clock.earlier(store_clock.store_time(at(ms)), at(ms));
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    store_clock.learn(reading(1_000, 1_000, 4_101_000), &era("e"));
    // The server that is ahead is replaced by one with a correct clock.
    store_clock.learn(reading(2_000, 2_000, 502_000), &era("f"));
    assert_eq!(earlier(&store_clock, 2_000), UtcMillis(502_000), "all that came before it");
    assert_eq!(earlier(&store_clock, 60_000), UtcMillis(502_000), "and nothing later");
    store_clock.learn(reading(61_000, 61_000, 561_000), &era("f"));
    store_clock.hear(UtcMillis(561_900));
    // Another server takes over.
    store_clock.learn(reading(62_000, 62_000, 562_000), &era("g"));
    assert_eq!(earlier(&store_clock, 62_000), UtcMillis(561_900));
    // The result stays the same when the time comes that was shown then.
    store_clock.compare(store_clock.store_time(at(62_000)), at(62_000));
    assert_eq!(earlier(&store_clock, 4_000_000), UtcMillis(561_900));
}

#[test]
fn what_was_heard_a_moment_ago_is_told_where_the_next_server_is_behind() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    store_clock.learn(reading(60_000, 60_000, 560_000), &era("e"));
    store_clock.hear(UtcMillis(560_900));
    store_clock.learn(reading(61_500, 61_500, 558_500), &era("f"));
    assert_eq!(store_clock.earlier(UtcMillis(561_100), at(61_500)), UtcMillis(561_500));
    // Also where a clock was ahead before.
    let mut store_clock = StoreClock::first(reading(0, 0, 4_100_000), era("d"));
    store_clock.learn(reading(1_000, 1_000, 501_000), &era("e"));
    store_clock.hear(UtcMillis(501_900));
    store_clock.learn(reading(2_500, 2_500, 499_500), &era("f"));
    assert_eq!(store_clock.earlier(UtcMillis(502_100), at(2_500)), UtcMillis(501_900));
}

#[test]
fn what_was_heard_in_the_life_before_is_told_by_the_clock_as_it_is_now() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    store_clock.learn(reading(1_000, 1_000, 4_101_000), &era("e"));
    store_clock.learn(reading(3_000, 3_000, 4_103_000), &era("f"));
    // It was an hour ahead, and is corrected.
    store_clock.learn(reading(4_000, 4_000, 504_000), &era("f"));
    assert_eq!(store_clock.earlier(UtcMillis(0), at(4_000)), UtcMillis(501_000));
}

#[test]
fn a_clock_that_is_slewed_leaves_nobody_calm_until_the_slew_ends() {
    let mut store_clock = StoreClock::first(reading(0, 1, 500_000), era("e"));
    for second in 1..=60_u64 {
        let store = 500_000 + (second * 1_083) as i64;
        store_clock.learn(reading(second * 1_000, second * 1_000 + 1, store), &era("e"));
        assert!(calm(&store_clock, second * 1_000 + 1) <= Duration::from_secs(1));
        assert_eq!(store_clock.slewed(at(second * 1_000 + 1)).is_some(), second > 1);
    }
    for second in 61..=66_u64 {
        let store = 564_980 + ((second - 60) * 1_000) as i64;
        assert_eq!(
            store_clock.learn(reading(second * 1_000, second * 1_000 + 1, store), &era("e")),
            ClockNews::Steady
        );
    }
    assert!(calm(&store_clock, 66_001) >= Duration::from_secs(5));
}

#[test]
fn a_drift_that_no_two_readings_show_is_measured_from_where_calm_began() {
    let mut store_clock = StoreClock::first(reading(0, 100, 500_050), era("e"));
    let mut slewed = 0;
    for second in 1..=30_u64 {
        let store = 500_050 + (second * 1_020) as i64;
        let learned = store_clock.learn(reading(second * 1_000, second * 1_000 + 100, store), &era("e"));
        slewed += usize::from(learned == ClockNews::Slewed);
    }
    assert!(slewed > 0, "two percent too fast for half a minute");
}

#[test]
fn the_largest_fence_is_remembered_in_every_era_unless_no_clock_shows_it() {
    let mut store_clock = StoreClock::first(reading(0, 0, 500_000), era("e"));
    for fence in [2_110_930_443_429, 500_000, 9_000_000_000_000_000] {
        store_clock.record_fence(Fence(fence));
    }
    store_clock.learn(reading(1_000, 1_000, 501_000), &era("f"));
    let node = NodeName::parse("a").expect("name");
    let known = Known { largest_lease: Duration::ZERO, mark: None, answered: None };
    let caller = store_clock.caller(&node, at(1_000), known);
    assert_eq!(caller.largest_fence, Fence(2_110_930_443_429));
    assert!(caller.latest_store_time < UtcMillis(502_000), "it is no time that was heard");
}

#[test]
fn a_clock_that_was_behind_when_a_replica_started_and_is_set_right_has_not_leapt() {
    const HOUR: i64 = 3_600_000;
    let right = |ms: u64| UtcMillis(10 * HOUR + i64::try_from(ms).expect("soon"));
    let behind = |ms: u64| UtcMillis(right(ms).0 - HOUR);
    let leapt = |wall: [UtcMillis; 2]| {
        let mut store_clock = StoreClock::first(reading(0, 2, behind(1).0), era("e"));
        store_clock.compare(wall[0], at(2));
        assert_eq!(store_clock.learn(reading(1_000, 1_002, right(1_001).0), &era("e")), ClockNews::Stepped);
        store_clock.compare(wall[1], at(1_002));
        store_clock.leapt()
    };
    assert_eq!(leapt([right(2), right(1_002)]), None, "it agrees with a wall clock that was steady");
    assert!(leapt([behind(2), right(1_002)]).is_some(), "both have leapt");
    assert!(leapt([behind(2), behind(1_002)]).is_some(), "the store's has");
}
