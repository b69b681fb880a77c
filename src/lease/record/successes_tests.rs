//! Tests of what entries change, in whatever order they come.

use proptest::prelude::*;

use crate::job::{Cause, Tick, Verdict};
use crate::lease::Era;

use super::*;

/// The store's time.
const NOW: i64 = 1_000;

fn entry(outcome: Outcome, tick: i64, ended: i64) -> HistoryEntry {
    let (tick, verdict) = (Tick::at_millis(tick), Verdict::plain(outcome));
    HistoryEntry::without_run(tick, Cause::Schedule, verdict, UtcMillis(ended))
}

/// Returns the newest tick that succeeded, the latest end of one, the number of failures, and since when; or 0.
fn counts(record: &Record) -> (i64, i64, u64, i64) {
    let tick = record.last_success_tick.map_or(0, Tick::as_millis);
    let [end, since] = [record.last_success_end, record.failing_since].map(|at| at.unwrap_or_default().0);
    (tick, end, record.failures_in_row, since)
}

fn counted(entries: &[HistoryEntry]) -> (i64, i64, u64, i64) {
    let mut record = Record::empty(Era::default());
    entries.iter().for_each(|entry| record.count_entry(entry, UtcMillis(NOW)));
    counts(&record)
}

#[test]
fn entries_change_what_the_record_tells_of_successes() {
    use Outcome::{Failed, Interrupted, Killed, Missed, Running, Skipped, Succeeded, TimedOut, Unknown};
    for (what, entries, expected) in [
        ("no entry", vec![], (0, 0, 0, 0)),
        ("a success", vec![(Succeeded, 10, 12)], (10, 12, 0, 0)),
        ("failures after it", vec![(Succeeded, 10, 12), (Failed, 20, 21), (Missed, 30, 31)], (10, 12, 2, 21)),
        (
            "a success ends them",
            vec![(Failed, 20, 21), (TimedOut, 30, 35), (Succeeded, 40, 41)],
            (40, 41, 0, 0),
        ),
        ("all kinds", vec![(Interrupted, 10, 11), (Unknown, 20, 21), (TimedOut, 30, 31)], (0, 0, 3, 11)),
        ("neither", vec![(Skipped, 10, 11), (Killed, 20, 21), (Running, 30, 31)], (0, 0, 0, 0)),
        ("killed in a row", vec![(Failed, 10, 11), (Killed, 20, 21), (Failed, 30, 31)], (0, 0, 2, 11)),
        ("an older success, told late", vec![(Failed, 20, 25), (Succeeded, 10, 24)], (10, 24, 1, 25)),
        ("one that ended with it", vec![(Failed, 20, 25), (Succeeded, 10, 25)], (10, 25, 0, 0)),
        ("an older failure, told late", vec![(Succeeded, 20, 25), (Failed, 10, 24)], (20, 25, 0, 0)),
        ("one that ended with the success", vec![(Succeeded, 20, 25), (Failed, 10, 25)], (20, 25, 1, 25)),
        ("an older tick, run later", vec![(Succeeded, 30, 32), (Succeeded, 10, 40)], (30, 40, 0, 0)),
        (
            "a success of a clock ahead",
            vec![(Succeeded, 10, NOW + 1), (Failed, 20, 25)],
            (10, NOW + 1, 1, 25),
        ),
        ("a failure of a clock ahead", vec![(Failed, 10, NOW + 1), (Succeeded, 20, 25)], (20, 25, 0, 0)),
    ] {
        let entries: Vec<_> = entries.into_iter().map(|(how, tick, ended)| entry(how, tick, ended)).collect();
        assert_eq!(counted(&entries), expected, "{what}");
    }
}

#[test]
fn an_entry_of_several_ticks_counts_as_many_and_as_one_if_the_number_is_not_known() {
    for (count, expected) in [(Some(8), 9), (Some(u64::MAX), u64::MAX), (None, 2)] {
        let missed = HistoryEntry { after: Some(UtcMillis(1)), count, ..entry(Outcome::Missed, 90, 91) };
        let (_, _, failures, since) = counted(&[entry(Outcome::Failed, 5, 6), missed]);
        assert_eq!((failures, since), (expected, 6), "{count:?}");
    }
}

fn some_entry() -> impl Strategy<Value = HistoryEntry> {
    (0..Outcome::ALL.len(), 1..60_i64, 1..60_i64, prop::option::of(2..9_u64)).prop_map(
        |(outcome, tick, ended, count)| HistoryEntry { count, ..entry(Outcome::ALL[outcome], tick, ended) },
    )
}

fn is_failure(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Succeeded | Outcome::Skipped | Outcome::Killed | Outcome::Running)
}

proptest! {
    #[test]
    fn in_any_order_the_instants_of_successes_never_go_back(
        entries in prop::collection::vec(some_entry(), 1..40),
    ) {
        let mut record = Record::empty(Era::default());
        let (mut newest, mut latest, mut failures) = (0, 0, 0);
        for entry in &entries {
            let before = record.clone();
            record.count_entry(entry, UtcMillis(NOW));
            if entry.outcome == Outcome::Succeeded {
                (newest, latest) = (newest.max(entry.tick.as_millis()), latest.max(entry.finished.0));
            } else if is_failure(entry.outcome) {
                failures += entry.count.unwrap_or(1);
            } else {
                prop_assert_eq!(&record, &before);
            }
            prop_assert_eq!((counts(&record).0, counts(&record).1), (newest, latest));
            prop_assert_eq!(record.failures_in_row == 0, record.failing_since.is_none());
            prop_assert!(record.failures_in_row <= failures);
        }
    }

    #[test]
    fn in_the_order_of_their_ends_failures_count_since_the_last_success(
        mut entries in prop::collection::vec(some_entry(), 1..40),
    ) {
        entries.sort_by_key(|entry| entry.finished);
        let last = entries.iter().rposition(|entry| entry.outcome == Outcome::Succeeded);
        let after = entries.iter().skip(last.map_or(0, |last| last + 1));
        let since = after.filter(|entry| is_failure(entry.outcome));
        let count: u64 = since.clone().map(|entry| entry.count.unwrap_or(1)).sum();
        let first = since.clone().next().map_or(0, |entry| entry.finished.0);
        let (_, _, failures, failing_since) = counted(&entries);
        prop_assert_eq!((failures, failing_since), (count, first));
    }
}
