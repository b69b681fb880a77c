use crate::time::UtcMillis;

use super::*;

/// A reading that was requested this many milliseconds after boot, with a round trip of 100 ms.
fn reading(at: u64, store: u64) -> ClockReading {
    let boot = |ms| BootInstant(Duration::from_millis(ms));
    ClockReading {
        sent: boot(at),
        received: boot(at + 100),
        store: UtcMillis(i64::try_from(store + 50).expect("small")),
    }
}

/// Returns the seconds until a slew of `ppm` millionths shows that begins after an hour of steady time.
fn shows_after(ppm: u64) -> Option<u64> {
    let hour = 3_600;
    let mut steady = Steady::from(reading(0, 0));
    (1..2 * hour).find_map(|second: u64| {
        let next = reading(second * 1_000, second * 1_000 + second.saturating_sub(hour) * ppm / 1_000);
        let from = steady.drifted_since(next);
        steady.take(next);
        from.map(|_| second - hour)
    })
}

#[test]
fn a_slew_after_a_long_steadiness_shows_as_soon_as_its_readings_can_tell() {
    assert!(shows_after(83_333).is_some_and(|second| second <= 5));
    assert!(shows_after(20_000).is_some_and(|second| second <= 60));
    assert!(shows_after(11_000).is_some_and(|second| second <= 1_100));
    assert_eq!(shows_after(9_900), None, "one percent is allowed");
}

#[test]
fn a_clock_that_is_set_right_by_a_little_now_and_then_is_steady() {
    let mut steady = Steady::from(reading(0, 0));
    for second in 1..7_200_u64 {
        let next = reading(second * 1_000, second * 1_000 + second % 20 * 5);
        assert_eq!(steady.drifted_since(next), None, "second {second}");
        steady.take(next);
    }
}

#[test]
fn a_slew_is_told_since_it_began_as_fast_as_it_is_and_no_longer_than_it_shows() {
    let first = Slew::seen(None, reading(5_000, 5_000), reading(6_000, 6_083));
    let next = Slew::seen(Some(first), reading(6_000, 6_083), reading(7_000, 7_167));
    let at = |ms| BootInstant(Duration::from_millis(ms));
    let told = Slewed { since: UtcMillis(5_050), faster_ppm: 83_500 };
    assert_eq!(next.told(at(37_100)), Some(told));
    assert_eq!(next.told(at(37_101)), None);
    let later = Slew::seen(Some(next), reading(60_000, 60_000), reading(61_000, 60_900));
    assert_eq!(
        later.told(at(61_100)),
        Some(Slewed { since: UtcMillis(60_050), faster_ppm: -100_000 }),
        "that is another one"
    );
}
