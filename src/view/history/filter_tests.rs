//! Which ticks a filter selects.

use std::time::Duration;

use crate::job::{Cause, Tick, Verdict};
use crate::lease::{Era, HistoryEntry, Phase, Record};
use crate::view::job::{Definition, KnownJob};
use crate::view::testing::{NOON, node, run_id};

use super::*;

/// Everything.
fn all() -> HistoryFilter {
    HistoryFilter {
        failed: false,
        outcomes: Vec::new(),
        node: None,
        since: None,
        until: None,
        before: None,
        newest: usize::MAX,
    }
}

/// A tick that ended this many minutes after noon, on this replica if it ran.
fn ended(minute: i64, outcome: Outcome, on: Option<&str>) -> HistoryEntry {
    let tick = Tick::at_millis(NOON + minute * 60_000);
    let entry = HistoryEntry::without_run(tick, Cause::Schedule, Verdict::plain(outcome), tick.instant());
    HistoryEntry { node: on.map(node), ..entry }
}

/// The place in the history of the tick that ended this many minutes after noon.
fn place_of(minute: i64) -> Option<HistoryCursor> {
    let at = UtcMillis(NOON + minute * 60_000);
    all().select(&snapshot()).iter().find(|tick| tick.ended() == at).map(HistoryCursor::of)
}

/// An hour after noon: a job with four ticks, and another one that is running since noon.
fn snapshot() -> Snapshot {
    let job = |name: &str| KnownJob { name: name.parse().expect("a name"), definition: Definition::Unknown };
    let entries = vec![
        ended(10, Outcome::Succeeded, Some("n1")),
        ended(20, Outcome::Failed, Some("n2")),
        ended(30, Outcome::Skipped, None),
        ended(40, Outcome::Succeeded, Some("n2")),
    ];
    let running = Record {
        phase: Phase::Running,
        run: Some(run_id(1)),
        tick: Some(Tick::at_millis(NOON)),
        owner: Some(node("n2")),
        started: Some(UtcMillis(NOON)),
        ..Record::empty(Era::default())
    };
    let jobs = vec![
        JobState::of(job("long"), Ok(Some(running)), Ok(Vec::new())),
        JobState::of(job("short"), Ok(None), Ok(entries)),
    ];
    Snapshot::of(UtcMillis(NOON).plus(Duration::from_secs(3_600)), Vec::new(), jobs)
}

#[test]
fn each_condition_leaves_out_what_does_not_meet_it() {
    let at = |minute: i64| Some(TimeBound::At(UtcMillis(NOON + minute * 60_000)));
    let ago = |minutes: u64| Some(TimeBound::Ago(Duration::from_secs(60 * minutes)));
    let (n2, outcomes) = (Some(node("n2")), vec![Outcome::Succeeded, Outcome::Running]);
    for (filter, minutes) in [
        (all(), &[10, 20, 30, 40, -1][..]),
        (HistoryFilter { failed: true, ..all() }, &[20, 30]),
        (HistoryFilter { outcomes, ..all() }, &[10, 40, -1]),
        (HistoryFilter { node: n2.clone(), ..all() }, &[20, 40, -1]),
        (HistoryFilter { since: at(20), ..all() }, &[20, 30, 40, -1]),
        (HistoryFilter { since: ago(25), ..all() }, &[40, -1]),
        (HistoryFilter { until: at(30), ..all() }, &[10, 20]),
        (HistoryFilter { since: at(20), until: ago(30), ..all() }, &[20]),
        (HistoryFilter { before: place_of(30), ..all() }, &[10, 20]),
        (HistoryFilter { before: place_of(30), newest: 1, ..all() }, &[20]),
        (HistoryFilter { newest: 2, ..all() }, &[40, -1]),
        (HistoryFilter { newest: 1, failed: true, node: n2, ..all() }, &[20]),
        (HistoryFilter { newest: 0, ..all() }, &[]),
    ] {
        let minute = |tick: &TickView| tick.finished.map_or(-1, |at| (at.0.0 - NOON) / 60_000);
        let found: Vec<i64> = filter.select(&snapshot()).iter().map(minute).collect();
        assert_eq!(found, minutes, "{filter:?}");
    }
}

#[test]
fn all_kept_entries_are_read_where_some_are_left_out() {
    assert_eq!(HistoryFilter { newest: 20, ..all() }.entries_per_job(), 20);
    assert_eq!(all().entries_per_job(), KEPT_ENTRIES);
    for filter in [
        HistoryFilter { failed: true, newest: 1, ..all() },
        HistoryFilter { until: Some(TimeBound::At(UtcMillis(NOON))), newest: 1, ..all() },
    ] {
        assert_eq!(filter.entries_per_job(), KEPT_ENTRIES, "{filter:?}");
    }
}
